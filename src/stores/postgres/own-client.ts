import { ifInstalled, installed } from '../../databases/installed.ts'
import type { PgPool } from '../../databases/pg.ts'
import type { Pool } from '../../store.ts'
import { type Database, type Ears, LIMIT_MS, type Listening } from './database.ts'
import { closedError, codeOf } from './failures.ts'
import { PgPoolDatabase } from './pg-pool.ts'
import { type MakePostgresJs, PostgresJsDatabase } from './postgres-js.ts'
import type { Row } from './records.ts'
import type { Statement } from './statements.ts'

/** Steps are batched: more connections would mostly wait for each other's commits. */
const MAX_CONNECTIONS = 4
/** For what no lock_timeout inside a statement can end, such as a wait for the table itself. */
const STATEMENT_TIMEOUT_MS = LIMIT_MS

/** Below the limit of a step, which could only say that no connection came. */
const CONNECT_TIMEOUT_MS = LIMIT_MS - 300

/**
 * How long postgres.js leaves a connection alone that has failed. By itself it does so for up to 20 s, more with each
 * failure of any of them, and steps would fail that long after the server is back. Only steps make it connect, and the
 * connections are few: more often does no harm.
 */
const BACKOFF_MS = 500

type PostgresJsOfUrl = (url: string, options: object) => ReturnType<MakePostgresJs>
type PoolClass = new (options: object) => PgPool & { end(): Promise<void> }

/** A small pool for a URL, opened on first use and closed with the store. */
export class OwnDatabase implements Database {
  readonly #url: string
  #opened: Opened | undefined
  /** What was opened, once it is. */
  #ready: Database | undefined
  /** Until a pooler refuses them. */
  #serverLimits = true
  #closed = false

  constructor(url: string) {
    this.#url = url
  }

  run(statement: Statement, values: readonly (string | null)[]): Promise<readonly Row[]> {
    return this.#with((database) => database.run(statement, values))
  }

  script(sql: string): Promise<void> {
    return this.#with((database) => database.script(sql))
  }

  listen(channel: string, ears: Ears): Promise<Listening | null> {
    return this.#with((database) => database.listen(channel, ears))
  }

  pool(): Pool | null {
    return this.#ready?.pool?.() ?? null
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#drop()
  }

  async #drop(): Promise<void> {
    const opened = this.#opened
    this.#opened = undefined
    this.#ready = undefined
    await (await opened?.database.catch(() => undefined))?.close()
  }

  async #with<T>(work: (database: Database) => Promise<T>): Promise<T> {
    if (this.#closed) throw closedError()
    const opened = (this.#opened ??= this.#open())
    try {
      return await work(await opened.database)
    } catch (error) {
      // One who waited for a connection of a pool that another has dropped for that reason was sent nowhere.
      const isDropped = !this.#serverLimits && codeOf(error) === 'CLOSED'
      if (!opened.serverLimits || !(isRefusedParameter(error) || isDropped)) throw error
      // A pooler passes on only the settings that it knows. Then the limits on this side must do.
      this.#serverLimits = false
      if (this.#opened === opened) await this.#drop()
      return this.#with(work)
    }
  }

  #open(): Opened {
    const database = open(this.#url, this.#serverLimits)
    const opened = { database, serverLimits: this.#serverLimits }
    // A driver that is missing now may be there the next time.
    database.then(
      (ready) => {
        if (this.#opened === opened) this.#ready = ready
      },
      () => {
        if (this.#opened === opened) this.#opened = undefined
      },
    )
    return opened
  }
}

interface Opened {
  readonly database: Promise<Database>
  readonly serverLimits: boolean
}

function isRefusedParameter(error: unknown): boolean {
  return codeOf(error) === '08P01' && /startup parameter/.test((error as Error).message)
}

async function open(url: string, serverLimits: boolean): Promise<Database> {
  const limits = serverLimits ? { statement_timeout: STATEMENT_TIMEOUT_MS } : {}
  const pg: { default: unknown } | undefined = await ifInstalled(() => import('pg'))
  if (pg) {
    const { Pool } = pg.default as { Pool: PoolClass }
    const pool = new Pool({
      connectionString: url,
      max: MAX_CONNECTIONS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      // A program that has nothing else to do may end while connections idle.
      allowExitOnIdle: true,
      application_name: 'holdfast',
      ...limits,
    })
    return new PgPoolDatabase(pool, () => pool.end())
  }
  const postgres: { default: unknown } = await installed(
    () => import('postgres'),
    'postgresStore: no PostgreSQL driver can be loaded; run `npm install pg`, or pass a client of your own',
  )
  return openPostgresJs(postgres.default as PostgresJsOfUrl, url, limits)
}

export function openPostgresJs(postgres: PostgresJsOfUrl, url: string, limits: object): Database {
  const sql = postgres(url, {
    max: MAX_CONNECTIONS,
    connect_timeout: CONNECT_TIMEOUT_MS / 1000,
    backoff: () => BACKOFF_MS / 1000,
    // Of no use to us; and when the connection is cut while it asks for them, nobody handles the rejection (3.4.9).
    fetch_types: false,
    onnotice: () => {},
    connection: { application_name: 'holdfast', ...limits },
  })
  return new PostgresJsDatabase(sql, () => sql.end({ timeout: 1 }))
}
