import { setTimeout as sleep } from 'node:timers/promises'
import { backgroundTimers, within } from '../../databases/limit.ts'
import type { MongoChangeStream, MongoDb } from '../../databases/mongo.ts'
import type { Ears, Hearing } from '../shared/push.ts'
import { codeOf } from './failures.ts'

/** The server answers at least so often, also when there is nothing to tell. */
const AWAIT_MS = 5000
/** A connection that was cut without a word is found out after this long. */
const SILENCE_MS = AWAIT_MS + 3000
/** A stream reads all that is written to the collection: nobody should pay for that who waits for nothing. */
const IDLE_MS = 10_000
const MIN_PAUSE_MS = 100
const MAX_PAUSE_MS = 10_000
const FAREWELL_MS = 1000
/** A server alone has no change streams. */
const NOT_A_SET = 40573

interface Change {
  readonly documentKey?: { readonly _id?: unknown }
}

/**
 * One change stream, in which the server looks for the mark of this process, while there is a key to wait for. The
 * driver resumes it where it was cut; where it cannot, a new one begins, and all that was before may have been missed.
 */
export class StreamHearing implements Hearing {
  readonly #open: () => Promise<MongoDb>
  readonly #collection: string
  readonly #waiter: string
  readonly #ears: Ears
  readonly #keys = new Set<string>()
  readonly #ended = new Set<Promise<void>>()
  #current: AbortController | undefined
  #idle: NodeJS.Timeout | undefined
  #up = false
  /** Not here, not ever: those who wait are served by polling. */
  #deaf = false

  constructor(open: () => Promise<MongoDb>, collection: string, waiter: string, ears: Ears) {
    this.#open = open
    this.#collection = collection
    this.#waiter = waiter
    this.#ears = ears
  }

  hears(): boolean {
    return this.#up
  }

  add(key: string): void {
    this.#keys.add(key)
    clearTimeout(this.#idle)
    if (this.#current || this.#deaf) return
    const current = new AbortController()
    this.#current = current
    const listening = this.#keep(current.signal)
    this.#ended.add(listening)
    void listening.finally(() => this.#ended.delete(listening))
  }

  delete(key: string): void {
    this.#keys.delete(key)
    if (this.#keys.size > 0) return
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => this.#quit(), IDLE_MS).unref()
  }

  async stop(): Promise<void> {
    clearTimeout(this.#idle)
    this.#quit()
    await Promise.all(this.#ended)
  }

  #quit(): void {
    this.#up = false
    this.#current?.abort()
    this.#current = undefined
  }

  async #keep(signal: AbortSignal): Promise<void> {
    for (let pauseMs = MIN_PAUSE_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      let stream: MongoChangeStream | undefined
      try {
        stream = await this.#begin()
        await this.#follow(stream, signal, () => (pauseMs = MIN_PAUSE_MS / 2))
      } catch (error) {
        // Push is a help, never a condition. The steps of the store report what is wrong.
        this.#deaf = codeOf(error) === NOT_A_SET
        if (this.#deaf) return
      } finally {
        if (!signal.aborted) this.#up = false
        await (stream && farewell(stream))
      }
      await sleep(pauseMs * (0.5 + Math.random()), undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  async #begin(): Promise<MongoChangeStream> {
    const db = await this.#open()
    const mine = { $regex: `^${this.#waiter}:` }
    // A change of much of a record is told as a new one.
    const woken = { $or: [{ 'updateDescription.updatedFields.woken': mine }, { 'fullDocument.woken': mine }] }
    const pipeline = [{ $match: woken }, { $project: { documentKey: 1 } }]
    // Unlike commands, a stream would go by what the client is set to, and some settings rule it out.
    const options = { readPreference: 'primary', readConcern: { level: 'majority' }, raw: false }
    const collection = db.collection(this.#collection)
    return collection.watch(pipeline, { maxAwaitTimeMS: AWAIT_MS, ...options })
  }

  async #follow(stream: MongoChangeStream, signal: AbortSignal, began: () => void): Promise<void> {
    let waits = true
    // The first word of a stream that has nothing to tell; its first answer comes only after as long as it waits.
    stream.on('resumeTokenChanged', () => {
      if (!waits || signal.aborted) return
      waits = false
      began()
      this.#up = true
      this.#ears.up(this.#keys)
    })
    try {
      while (!signal.aborted) {
        const next = within(stream.tryNext(), SILENCE_MS, silence, undefined, backgroundTimers)
        const change = (await orAborted(next, signal)) as Change | null
        // It ends with its collection, and would say so for ever, without so much as a pause.
        if (stream.closed) return
        const key = change?.documentKey?._id
        if (typeof key === 'string' && !signal.aborted) this.#ears.heard(key)
      }
    } finally {
      waits = false
    }
  }
}

/** Null if the signal comes first. Leaves nothing at the signal, which lives longer. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const abort = (): void => resolve(null)
    signal.addEventListener('abort', abort, { once: true })
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

async function farewell(stream: MongoChangeStream): Promise<void> {
  const closed = Promise.resolve(stream.close())
  await within(closed, FAREWELL_MS, silence, undefined, backgroundTimers).catch(() => undefined)
}

function silence(): Error {
  return new Error('the change stream is silent')
}
