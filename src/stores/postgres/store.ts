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
import { type Database, LIMIT_MS } from './database.ts'
import {
  asLockError,
  closedError,
  isCreated,
  isInTheWay,
  isMissing,
  isUnprepared,
  missingTable,
  otherTable,
} from './failures.ts'
import { hearingOn } from './hearing.ts'
import {
  answersTo,
  askValue,
  askValues,
  claimValues,
  recordOf,
  releaseAnswersTo,
  renewalAnswersTo,
  renewalValues,
  type Row,
} from './records.ts'
import { createScript, type Names, problemsOf } from './schema.ts'
import { arrayOf, type Statement, type Statements, statementsFor } from './statements.ts'

export interface Settings {
  readonly database: Database
  /** Where to listen; undefined to poll instead. */
  readonly ear: Database | undefined
  readonly names: Names
  readonly keepMs: number
  readonly create: boolean
}

export class PostgresStore implements Store {
  readonly name = 'postgres'
  readonly #settings: Settings
  readonly #statements: Statements
  readonly #push: Push
  readonly #sweep: Sweep
  /** Until a pooler turns out not to keep prepared statements. */
  #prepare = true
  #closed = false

  constructor(settings: Settings) {
    const { ear, names, keepMs } = settings
    const statements = statementsFor(names)
    this.#settings = settings
    this.#statements = statements
    const keysOf = (rows: readonly Row[]): string[] => rows.map(([key]) => String(key))
    const notify = (channel: string, payload: string): Promise<unknown> =>
      this.#query(statements.notify, [channel, payload])
    this.#push = new Push({
      listen: ear && ((waiter, ears) => hearingOn(waiter, ears, { database: ear, notify })),
      free: async (keys) => keysOf(await this.#query(statements.free, [arrayOf(keys)])),
      enlist: async (keys, waiter) => keysOf(await this.#query(statements.enlist, [arrayOf(keys), waiter])),
      dismiss: (keys, waiter) => this.#query(statements.dismiss, [arrayOf(keys), waiter]),
      pass: async (key, waiter) => (await this.#query(statements.pass, [key, waiter])).length > 0,
    })
    this.#sweep = new Sweep(keepMs, async (after, count) => {
      const [row] = await this.#query(statements.sweep, [after, String(count), String(keepMs)])
      return row ? String(row[0]) : null
    })
  }

  async open(): Promise<void> {
    try {
      await this.#prepareTable()
    } catch (error) {
      throw asLockError(error, this.#settings.names)
    }
  }

  async acquire(asks: readonly Ask[]): Promise<readonly Answer[]> {
    const { id } = this.#push
    const [ask] = asks
    const answers = await this.#push.around(asks, async (waiting) => {
      const rows =
        ask && asks.length === 1
          ? await this.#step(this.#statements.acquireOne, askValue(ask, id, waiting.size > 0))
          : await this.#step(this.#statements.acquire, askValues(asks, id, [...waiting]))
      return answersTo(asks, rows)
    })
    this.#sweep.poke()
    return answers
  }

  async renew(renewals: readonly Renewal[]): Promise<readonly RenewalAnswer[]> {
    return renewalAnswersTo(renewals, await this.#step(this.#statements.renew, renewalValues(renewals)))
  }

  async release(claims: readonly Claim[]): Promise<readonly ReleaseAnswer[]> {
    const [claim] = claims
    const rows =
      claim && claims.length === 1
        ? await this.#step(this.#statements.releaseOne, [claim.key, claim.owner])
        : await this.#step(this.#statements.release, claimValues(claims))
    return releaseAnswersTo(claims, rows)
  }

  async list({ key, prefix = '', after = '', limit }: ListQuery): Promise<LockPage> {
    const rows = await this.#step(this.#statements.list, [key ?? null, prefix, after, String(limit + 1)])
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
    // Before anything else: it still has something to say to the server.
    await Promise.all([this.#push.close(), this.#sweep.stop()])
    this.#closed = true
    const { database, ear } = this.#settings
    await Promise.all([database.close(), ear === database ? undefined : ear?.close()])
  }

  async #evict(key: string, grant: number): Promise<LockRecord | null> {
    const [row] = await this.#step(this.#statements.evict, [key, String(grant)])
    return row ? recordOf(row) : null
  }

  /** Every failure as a LockError. A table that somebody dropped is created again, once. */
  async #step(statement: Statement, values: readonly (string | null)[]): Promise<readonly Row[]> {
    try {
      return await this.#query(statement, values).catch(async (error: unknown) => {
        if (!isMissing(error)) throw error
        await this.#prepareTable()
        return this.#query(statement, values)
      })
    } catch (error) {
      throw asLockError(error, this.#settings.names)
    }
  }

  #query(statement: Statement, values: readonly (string | null)[]): Promise<readonly Row[]> {
    return untilDone(LIMIT_MS, isInTheWay, () => this.#send(statement, values))
  }

  async #send(statement: Statement, values: readonly (string | null)[]): Promise<readonly Row[]> {
    if (this.#closed) throw closedError()
    const { database } = this.#settings
    if (!this.#prepare) return database.run({ text: statement.text }, values)
    try {
      return await database.run(statement, values)
    } catch (error) {
      if (!isUnprepared(error)) throw error
      this.#prepare = false
      return database.run({ text: statement.text }, values)
    }
  }

  /** Rights to create are needed only if there is something to create. */
  async #prepareTable(): Promise<void> {
    const { database, names, create } = this.#settings
    const inspect = (): Promise<readonly Row[]> =>
      this.#query(this.#statements.inspect, [names.schema, names.table])
    let found = await inspect()
    for (let tries = 1; !found.some(([column]) => column !== null); tries += 1) {
      if (!create || tries > MAX_CREATIONS) throw missingTable(names)
      if (this.#closed) throw closedError()
      await database.script(createScript(names, found.length > 0)).catch((error: unknown) => {
        if (!isCreated(error)) throw error
      })
      found = await inspect()
    }
    const problems = problemsOf(found)
    if (problems.length > 0) throw otherTable(names, problems)
  }
}
