import { lendValues } from '../../databases/lent-values.ts'
import type { PostgresJs } from '../../databases/postgres-js.ts'
import { type Database, type Ears, LIMIT_MS, type Listening } from './database.ts'
import { within } from './limit.ts'
import { listeningOnce } from './listening.ts'
import type { Row } from './records.ts'
import type { Statement } from './statements.ts'

interface OwnPostgresJs extends PostgresJs {
  end(options: { readonly timeout: number }): Promise<void>
}

/** The default export of the package `postgres`. */
export type MakePostgresJs = (options: object) => OwnPostgresJs

/** An instance of postgres.js, the user's or our own. */
export class PostgresJsDatabase implements Database {
  readonly #sql: PostgresJs
  readonly #end: () => Promise<void>

  /** `end` closes the instance if it is ours. */
  constructor(sql: PostgresJs, end: () => Promise<void> = async () => {}) {
    this.#sql = sql
    this.#end = end
  }

  run({ name, text }: Statement, values: readonly (string | null)[]): Promise<readonly Row[]> {
    return this.#query(text, values, name !== undefined)
  }

  async script(sql: string): Promise<void> {
    await this.#query(sql, [], false)
  }

  async listen(channel: string, ears: Ears): Promise<Listening | null> {
    const { default: postgres } = (await import('postgres')) as unknown as { default: MakePostgresJs }
    const own = postgres({
      ...this.#sql.options,
      max: 1,
      idle_timeout: null,
      max_lifetime: null,
      // It is what ends an attempt: `end` leaves a connection alone that is not open yet.
      connect_timeout: LIMIT_MS / 1000,
      fetch_types: false,
      onclose: () => ears.lost(),
      onnotify: (_channel: string, payload: string) => ears.heard(payload),
    })
    const close = (): Promise<void> => own.end({ timeout: 0 }).catch(() => undefined)
    return listeningOnce(start(own, channel), close)
  }

  close(): Promise<void> {
    return this.#end()
  }

  #query(text: string, values: readonly (string | null)[], prepare: boolean): Promise<readonly Row[]> {
    const message = (): string =>
      `no answer came within ${LIMIT_MS} ms: the server does not answer, or all connections of the client are in ` +
      'use by your own transactions; then allow it more of them, or give the store a client of its own'
    // Given up, but not cancelled: postgres.js (3.4.9) then takes the answers of the queries behind it for those of
    // others, or loses the connection's place. What is on its way is a late step. What still waits for a connection may
    // do so for a minute, and would take a key for nobody; no statement of the store finds a row without its values.
    return lendValues(values, async (lent) => {
      const query = this.#sql.unsafe(text, lent as never[], { prepare })
      const rows = await within(query.values(), message)
      // A `transform` of the user's may make undefined of null, and an object of a row.
      return rows.map((row) => Object.values(row as object).map((value: unknown) => value ?? null))
    })
  }
}

// Behind a pooler, see `pg-listening.ts`.
async function start(own: PostgresJs, channel: string): Promise<boolean> {
  const rows = (await own.unsafe('select pg_backend_pid()::text').values()) as readonly Row[] & {
    readonly state?: { readonly pid?: number }
  }
  if (rows.state?.pid !== undefined && String(rows.state.pid) !== String(rows[0]?.[0])) return false
  await own.unsafe(`listen "${channel}"`)
  return true
}
