import { ifInstalled, installed } from '../../databases/installed.ts'
import type { MysqlPool } from '../../databases/mysql.ts'
import type { Pool } from '../../store.ts'
import { type Change, type Database, LIMIT_MS } from './database.ts'
import { closedError } from './failures.ts'
import { LendingDatabase, poolLender } from './lending.ts'

/** Steps are batched: more connections would mostly wait for each other's commits. */
const MAX_CONNECTIONS = 4

interface OwnPool extends MysqlPool {
  end(): Promise<void>
}

/** A small pool for a URL, opened on first use and closed with the store. */
export class OwnDatabase implements Database {
  readonly #url: string
  #opened: Promise<Database> | undefined
  #ready: Database | undefined
  #closed = false

  constructor(url: string) {
    this.#url = url
  }

  async read(sql: string): Promise<readonly string[]> {
    return (await this.#database()).read(sql)
  }

  async change(step: Change): Promise<readonly string[]> {
    return (await this.#database()).change(step)
  }

  pool(): Pool | null {
    return this.#ready?.pool?.() ?? null
  }

  async close(): Promise<void> {
    this.#closed = true
    await (await this.#opened?.catch(() => undefined))?.close()
  }

  #database(): Promise<Database> {
    if (this.#closed) return Promise.reject(closedError())
    if (this.#opened) return this.#opened
    const opening = open(this.#url)
    this.#opened = opening
    // A driver that is missing now may be there the next time.
    opening.then(
      (database) => (this.#ready = database),
      () => (this.#opened = undefined),
    )
    return opening
  }
}

async function open(url: string): Promise<Database> {
  const [, rest = ''] = /^[a-z]+:(.*)$/is.exec(url) ?? []
  const pool = (await openMysql2(`mysql:${rest}`)) ?? (await openMariadb(`mariadb:${rest}`))
  // A connection that is still being opened may fail yet, which is of no interest any more.
  return new LendingDatabase(poolLender(pool, () => pool.end().catch(() => undefined)))
}

async function openMysql2(uri: string): Promise<OwnPool | undefined> {
  const mysql2 = await ifInstalled(() => import('mysql2/promise'))
  const pool = mysql2?.createPool({
    uri,
    connectionLimit: MAX_CONNECTIONS,
    connectTimeout: LIMIT_MS,
    enableKeepAlive: true,
  })
  // A program that has nothing else to do may end while connections idle: each step has a timer of its own.
  pool?.on('connection', (connection) => {
    const { stream } = connection as unknown as { stream?: { unref?(): void } }
    stream?.unref?.()
  })
  return pool
}

async function openMariadb(url: string): Promise<OwnPool> {
  const mariadb = await installed(
    () => import('mariadb'),
    'mysqlStore: no driver for MySQL or MariaDB can be loaded; run `npm install mysql2`, or pass a pool of your own',
  )
  const location = new URL(url)
  const limits = { connectionLimit: MAX_CONNECTIONS, connectTimeout: LIMIT_MS, acquireTimeout: LIMIT_MS }
  for (const [name, value] of Object.entries(limits)) location.searchParams.set(name, String(value))
  return mariadb.createPool(location.href)
}
