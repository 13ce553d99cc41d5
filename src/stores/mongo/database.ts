import { setTimeout } from 'node:timers/promises'
import { within } from '../../databases/limit.ts'
import type { MongoDb, MongoDocument } from '../../databases/mongo.ts'
import { isElection, isRace, isUnsent, TimedOut, writeFailure } from './failures.ts'

/**
 * Below core's limit for a call, 3 s by default, so that the caller learns what was in the way. A store does not know
 * that limit: a longer one does not lengthen this.
 */
export const LIMIT_MS = 2500
/** A server or a driver that keeps to the limit says more than we could. */
const GRACE_MS = 100
const PAUSE_MS = 100

/**
 * Enough nodes have it, on disk, whatever the client's own setting is: a fail-over or a crash forgets nothing. On a
 * server alone it is that one's disk.
 */
const WRITE_CONCERN = { w: 'majority', j: true, wtimeout: LIMIT_MS - 2 * GRACE_MS }

/** Where the store's commands go. */
export interface Source {
  /** Opens what is to be opened. */
  db(): Promise<MongoDb>
  /** Ends what was opened here. */
  close(): Promise<void>
}

/** Runs commands, each within a limit. What they do may be done twice: all of them bear repeating. */
export class Database {
  readonly #source: Source

  constructor(source: Source) {
    this.#source = source
  }

  db(): Promise<MongoDb> {
    return this.#source.db()
  }

  close(): Promise<void> {
    return this.#source.close()
  }

  /**
   * Again while another upsert was first, while there is no primary, and if it was not even sent, until the limit.
   * `attempt` is 1 for the first time: what came before may have been done.
   */
  async step<T>(work: (command: Command, attempt: number) => Promise<T>): Promise<T> {
    const until = performance.now() + LIMIT_MS
    const command: Command = (document, after) => this.#command(document, after, until)
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work(command, attempt)
      } catch (error) {
        const pauseMs = isRace(error) ? 0 : PAUSE_MS * (0.5 + Math.random())
        const again = isRace(error) || isElection(error) || isUnsent(error)
        if (!again || performance.now() + pauseMs > until) throw error
        await setTimeout(pauseMs)
      }
    }
  }

  async #command(
    document: MongoDocument,
    after: MongoDocument | undefined,
    until: number,
  ): Promise<MongoDocument> {
    const limitMs = Math.max(1, Math.ceil(until - performance.now()))
    const limit = new AbortController()
    const timedOut = (): TimedOut => {
      const error = new TimedOut(`no answer within ${LIMIT_MS} ms`)
      // Also gives the connection up: one that died in silence would be waited for till the last of them is.
      limit.abort(error)
      return error
    }
    // The server ends what has not been done by then: nobody waits for it.
    const command = { ...document, ...concernOf(document, after), maxTimeMS: limitMs }
    const reply = await within(this.#send(command, limit.signal), limitMs + GRACE_MS, timedOut)
    const failure = writeFailure(reply)
    // Of those that are inserted, some are there already.
    if (failure && !('insert' in document && isRace(failure))) throw failure
    return reply
  }

  async #send(command: MongoDocument, signal: AbortSignal): Promise<MongoDocument> {
    const db = await this.#source.db()
    // Given up while it was being opened: nobody waits for what would be done now. Drivers before 6.13 do not look.
    signal.throwIfAborted()
    return db.command(command, { signal, readPreference: 'primary' })
  }
}

/** `after`: the reply that a read has to know of. One from a primary that has been replaced does not. */
export type Command = (document: MongoDocument, after?: MongoDocument) => Promise<MongoDocument>

function concernOf(document: MongoDocument, after: MongoDocument | undefined): MongoDocument {
  if ('find' in document) {
    const { operationTime } = after ?? {}
    const since = operationTime === undefined ? {} : { afterClusterTime: operationTime }
    return { readConcern: { level: 'majority', ...since } }
  }
  if ('insert' in document) return { writeConcern: { w: 1 } }
  return WRITES.some((name) => name in document) ? { writeConcern: WRITE_CONCERN } : {}
}

const WRITES = ['update', 'findAndModify', 'createIndexes']
