import { randomBytes } from 'node:crypto'
import { dialectOf } from '../../databases/mysql-version.ts'
import type {
  Answer,
  Ask,
  Claim,
  ListQuery,
  LockPage,
  LockRecord,
  Pool,
  ReleaseAnswer,
  Renewal,
  RenewalAnswer,
  Store,
  Watch,
} from '../../store.ts'
import { evictHolder } from '../shared/eviction.ts'
import { Push } from '../shared/push.ts'
import { Sweep } from '../shared/sweep.ts'
import { MAX_CREATIONS } from '../shared/table.ts'
import { untilDone } from '../shared/until-done.ts'
import { cleaning } from './cleaning.ts'
import { type Change, type Database, LIMIT_MS } from './database.ts'
import {
  asLockError,
  closedError,
  isCreated,
  isInTheWay,
  isMissing,
  missingTable,
  otherTable,
} from './failures.ts'
import { hexOf } from './expressions.ts'
import { partsOf } from './parts.ts'
import { answersTo, evictedBy, recordOf, releaseAnswersTo, renewalAnswersTo } from './records.ts'
import { createTable, inspectTable, type Names, problemsOf } from './schema.ts'
import { Statements } from './statements.ts'
import { Steps } from './steps.ts'

export interface Settings {
  readonly database: Database
  readonly names: Names
  readonly keepMs: number
  readonly create: boolean
}

export class MysqlStore implements Store {
  readonly name = 'mysql'
  readonly #settings: Settings
  readonly #statements: Statements
  readonly #push: Push
  readonly #sweep: Sweep
  /** Once the server has said who it is. */
  #steps: Steps | undefined
  #closed = false

  constructor(settings: Settings) {
    this.#settings = settings
    this.#statements = new Statements(settings.names)
    // The server has no word for those who wait: they look, all keys in one read.
    this.#push = new Push({
      listen: undefined,
      free: async (keys) => {
        const held = new Set(await this.#inParts(keys, (part) => this.#read(this.#statements.held(part))))
        return keys.filter((key) => !held.has(hexOf(key)))
      },
      enlist: async () => [],
      dismiss: async () => undefined,
      pass: async () => false,
    })
    const { database, keepMs } = settings
    this.#sweep = new Sweep(
      keepMs,
      cleaning(this.#statements, keepMs, (sql) => database.read(sql)),
    )
  }

  async open(): Promise<void> {
    await this.#asLockError(() => this.#prepareTable())
  }

  async acquire(asks: readonly Ask[]): Promise<readonly Answer[]> {
    const answers = await this.#push.around(asks, () =>
      this.#inParts(asks, async (part) => answersTo(part, await this.#step((steps) => steps.acquire(part)))),
    )
    this.#sweep.poke()
    return answers
  }

  renew(renewals: readonly Renewal[]): Promise<readonly RenewalAnswer[]> {
    return this.#inParts(renewals, async (part) =>
      renewalAnswersTo(part, await this.#step((steps) => steps.renew(part))),
    )
  }

  release(claims: readonly Claim[]): Promise<readonly ReleaseAnswer[]> {
    const call = newCall()
    return this.#inParts(claims, async (part) =>
      releaseAnswersTo(part, call, await this.#step((steps) => steps.release(part, call))),
    )
  }

  async list(query: ListQuery): Promise<LockPage> {
    const { limit } = query
    const rows = await this.#mended(() => this.#read(this.#statements.list({ ...query, limit: limit + 1 })))
    const locks = rows.slice(0, limit).map(recordOf)
    return { locks, next: rows.length > limit ? (locks.at(-1)?.key ?? null) : null }
  }

  async evict(key: string, grant?: number): Promise<LockRecord | null> {
    if (grant !== undefined) return this.#evict(key, grant)
    return evictHolder({
      store: this.name,
      key,
      find: async () => (await this.list({ key, limit: 1 })).locks[0],
      evict: (found) => this.#evict(key, found),
    })
  }

  watch(onFreed: (key: string) => void): Watch {
    if (this.#closed) throw closedError()
    return this.#push.watch(onFreed)
  }

  pool(): Pool | null {
    return this.#settings.database.pool?.() ?? null
  }

  async close(): Promise<void> {
    if (this.#closed) return
    await Promise.all([this.#push.close(), this.#sweep.stop()])
    this.#closed = true
    await this.#settings.database.close()
  }

  async #evict(key: string, grant: number): Promise<LockRecord | null> {
    const call = newCall()
    return evictedBy(call, await this.#step((steps) => steps.evict(key, grant, call)))
  }

  /** One after the other, so that no connection waits for another of the same call. */
  async #inParts<I, O>(
    items: readonly I[],
    step: (part: readonly I[]) => Promise<readonly O[]>,
  ): Promise<O[]> {
    const answers: O[] = []
    for (const part of partsOf(items)) answers.push(...(await step(part)))
    return answers
  }

  #step(changeBy: (steps: Steps) => Change): Promise<readonly string[]> {
    return this.#mended(async () => {
      if (!this.#steps) await this.#prepareTable()
      const change = changeBy(this.#steps as Steps)
      return this.#untilDone((database) => database.change(change))
    })
  }

  /** Every failure as a LockError. A table that somebody dropped is created again, once. */
  #mended(run: () => Promise<readonly string[]>): Promise<readonly string[]> {
    return this.#asLockError(() =>
      run().catch(async (error: unknown) => {
        if (!isMissing(error)) throw error
        await this.#prepareTable()
        return run()
      }),
    )
  }

  async #asLockError<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run()
    } catch (error) {
      throw asLockError(error, this.#settings.names)
    }
  }

  #read(sql: string): Promise<readonly string[]> {
    return this.#untilDone((database) => database.read(sql))
  }

  #untilDone<T>(run: (database: Database) => Promise<T>): Promise<T> {
    return untilDone(LIMIT_MS, isInTheWay, async () => {
      if (this.#closed) throw closedError()
      return run(this.#settings.database)
    })
  }

  /** Rights to create are needed only if there is something to create. */
  async #prepareTable(): Promise<void> {
    const { names, create } = this.#settings
    let columns = await this.#inspect()
    for (let tries = 1; columns.length === 0; tries += 1) {
      if (!create || tries > MAX_CREATIONS) throw missingTable(names)
      await this.#read(createTable(names)).catch((error: unknown) => {
        if (!isCreated(error)) throw error
      })
      columns = await this.#inspect()
    }
    const problems = problemsOf(columns)
    if (problems.length > 0) throw otherTable(names, problems)
  }

  /** The columns of the table, and by the way who the server is. */
  async #inspect(): Promise<readonly string[]> {
    const { names } = this.#settings
    const [version = '', ...columns] = await this.#read(inspectTable(names))
    this.#steps = new Steps(names, dialectOf(version))
    return columns
  }
}

function newCall(): string {
  return randomBytes(12).toString('base64url')
}
