import { isInTransaction, type PgPool, type PgPoolClient } from '../../databases/pg.ts'
import { isPoolTimeout, listenToErrors, unreachedBy } from '../../databases/pg-errors.ts'
import { type Database, type Ears, LIMIT_MS, type Listening } from './database.ts'
import type { Pool } from '../../store.ts'
import { closedError, insideTransaction, isLost, TimedOut } from './failures.ts'
import { within } from './limit.ts'
import { queryOf } from './pg-client.ts'
import { listenOn, type OwnPgClient } from './pg-listening.ts'
import type { Row } from './records.ts'
import type { Statement } from './statements.ts'

/** What a `Pool` of `pg` has besides, and what it takes to open one more connection like its own. */
interface Kin {
  readonly Client?: new (options: unknown) => OwnPgClient
  readonly options?: { readonly max?: number; readonly connectionTimeoutMillis?: number }
}

interface Loan {
  /** Nobody waits for it any more. */
  over: boolean
  /** While a connection is out. */
  giveBack?: (destroy: boolean) => void
}

const ignore = (): void => {}
const MAX_TRIES = 3

/** A pool of `pg`, the user's or our own. */
export class PgPoolDatabase implements Database {
  readonly #pool: PgPool & Kin
  readonly #end: (() => Promise<void>) | undefined
  readonly #stopListening: () => void
  /** Those who wait for a connection. */
  readonly #waiting = new Set<() => void>()

  /** `end` closes the pool if it is ours. */
  constructor(pool: PgPool, end?: () => Promise<void>) {
    this.#pool = pool
    this.#end = end
    this.#stopListening = listenToErrors(pool)
  }

  run(statement: Statement, values: readonly (string | null)[]): Promise<readonly Row[]> {
    const query = queryOf(statement, values)
    return this.#lend(async (client) => (await client.query(query)).rows as Row[])
  }

  async script(sql: string): Promise<void> {
    await this.#lend((client) => client.query({ text: sql }))
  }

  async listen(channel: string, ears: Ears): Promise<Listening | null> {
    const { Client, options } = this.#pool
    // The options as they are: a copy would lack the password, which the pool hides.
    return Client && options ? listenOn(new Client(options), channel, ears) : null
  }

  pool(): Pool {
    const { totalCount, idleCount, waitingCount } = this.#pool
    return { open: totalCount, idle: idleCount, waiting: waitingCount }
  }

  async close(): Promise<void> {
    // One of ours may still have something to say while it ends: that the server shuts down, for one.
    if (this.#end) {
      // A pool that is ended forgets them.
      for (const giveUp of this.#waiting) giveUp()
      return this.#end()
    }
    this.#stopListening()
  }

  /** One limit for both: the wait for a connection, and that for the answer. */
  #lend<T>(work: (client: PgPoolClient) => Promise<T>): Promise<T> {
    const loan: Loan = { over: false }
    return within(this.#borrow(loan, work), () => {
      loan.over = true
      if (!loan.giveBack) return this.#usedUp(LIMIT_MS)
      loan.giveBack(true)
      return `the server did not answer within ${LIMIT_MS} ms`
    })
  }

  async #borrow<T>(loan: Loan, work: (client: PgPoolClient) => Promise<T>): Promise<T> {
    const client = await this.#take(loan)
    // While it is lent, an error of its connection would otherwise be nobody's and end the process.
    client.on('error', ignore)
    loan.giveBack = (destroy) => {
      delete loan.giveBack
      client.removeListener('error', ignore)
      client.release(destroy)
    }
    let result: T
    try {
      result = await work(client)
    } catch (error) {
      loan.giveBack?.(isLost(error))
      throw error
    }
    const inside = isInTransaction(client)
    loan.giveBack?.(inside)
    if (inside) throw insideTransaction()
    return result
  }

  /** Someone may have given a connection back in the middle of a transaction. */
  async #take(loan: Loan): Promise<PgPoolClient> {
    for (let tries = 0; ; tries += 1) {
      const client = await this.#connect()
      const inside = isInTransaction(client)
      if (!inside && !loan.over) return client
      client.release(inside)
      if (loan.over) throw new TimedOut('nobody waits for the connection any more')
      if (tries === MAX_TRIES) throw insideTransaction()
    }
  }

  #connect(): Promise<PgPoolClient> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.#waiting.delete(giveUp)
        reject(closedError())
      }
      this.#waiting.add(giveUp)
      this.#pool.connect().then(
        (client) => {
          if (this.#waiting.delete(giveUp)) resolve(client)
          else client.release()
        },
        (error: Error) => {
          this.#waiting.delete(giveUp)
          const { connectionTimeoutMillis: limitMs = LIMIT_MS } = this.#pool.options ?? {}
          reject(isPoolTimeout(error) ? new TimedOut(this.#usedUp(limitMs)) : error)
        },
      )
    })
  }

  #usedUp(limitMs: number): string {
    const { totalCount, idleCount, waitingCount, options } = this.#pool
    const counts = `${totalCount} open, ${idleCount} idle, ${waitingCount} waiting`
    const unreached = unreachedBy(this.#pool)
    if (unreached) return `the pool gave no connection within ${limitMs} ms (${counts}): ${unreached}`
    // Of ours, nobody else has one.
    const full = !this.#end && options?.max !== undefined && totalCount >= options.max && idleCount === 0
    return full
      ? `no connection of the pool came free within ${limitMs} ms (${counts}): your own transactions use all ` +
          `${options.max} of them; make the pool larger, or give the store a pool of its own`
      : `the pool gave no connection within ${limitMs} ms (${counts})`
  }
}
