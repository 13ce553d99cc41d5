import type { PgPool, PgPoolClient } from '../../databases/pg.ts'
import { type Database, type Ears, LIMIT_MS, type Listening, type Query } from './database.ts'
import { isLost } from './failures.ts'
import { within } from './limit.ts'
import { listenOn, type OwnPgClient } from './pg-listening.ts'
import type { Row } from './records.ts'

/** What a `Pool` of `pg` has besides, and what it takes to open one more connection like its own. */
interface Kin {
  readonly Client?: new (options: unknown) => OwnPgClient
  readonly options?: { readonly max?: number }
}

const ignore = (): void => {}

/** A pool of `pg`, the user's or our own. */
export class PgPoolDatabase implements Database {
  readonly #pool: PgPool & Kin
  readonly #end: (() => Promise<void>) | undefined

  /** `end` closes the pool if it is ours. */
  constructor(pool: PgPool, end?: () => Promise<void>) {
    this.#pool = pool
    this.#end = end
    // An idle connection that breaks makes the pool emit 'error', which ends the process if nobody listens. The
    // next call finds out by itself.
    pool.on('error', ignore)
  }

  run({ name, text }: Query, values: readonly (string | null)[]): Promise<readonly Row[]> {
    const named = name === undefined ? {} : { name }
    return this.#lend(async (client) => {
      const { rows } = await client.query({ ...named, text, values: [...values], rowMode: 'array' })
      return rows as Row[]
    })
  }

  async script(sql: string): Promise<void> {
    await this.#lend((client) => client.query({ text: sql }))
  }

  async listen(channel: string, ears: Ears): Promise<Listening | null> {
    const { Client, options } = this.#pool
    // The options as they are: a copy would lack the password, which the pool hides.
    return Client && options ? listenOn(new Client(options), channel, ears) : null
  }

  async close(): Promise<void> {
    // One of ours may still have something to say while it ends: that the server shuts down, for one.
    if (this.#end) await this.#end()
    else this.#pool.removeListener('error', ignore)
  }

  async #lend<T>(work: (client: PgPoolClient) => Promise<T>): Promise<T> {
    const until = performance.now() + LIMIT_MS
    const client = await within(
      this.#pool.connect(),
      () => this.#usedUp(),
      (late) => late.release(),
    )
    // While it is lent, an error of its connection would otherwise be nobody's and end the process.
    client.on('error', ignore)
    let destroy = false
    try {
      const left = Math.max(1, until - performance.now())
      return await within(
        work(client),
        () => `the server did not answer within ${LIMIT_MS} ms`,
        undefined,
        left,
      )
    } catch (error) {
      destroy = isLost(error)
      throw error
    } finally {
      client.removeListener('error', ignore)
      client.release(destroy)
    }
  }

  #usedUp(): string {
    const { totalCount, idleCount, waitingCount, options } = this.#pool
    const counts = `${totalCount} open, ${idleCount} idle, ${waitingCount} waiting`
    const full = options?.max !== undefined && totalCount >= options.max && idleCount === 0
    return full
      ? `no connection of the pool came free within ${LIMIT_MS} ms (${counts}): your own transactions use all ` +
          `${options.max} of them; make the pool larger, or give the store a pool of its own`
      : `the pool gave no connection within ${LIMIT_MS} ms (${counts})`
  }
}
