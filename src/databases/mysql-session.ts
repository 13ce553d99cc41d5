import type { MysqlConnection, MysqlPoolConnection } from './mysql.ts'

/** What the server says of its session with each answer. */
const IN_TRANSACTION = 1
const AUTOCOMMIT = 2

export interface SessionStatus {
  readonly inTransaction: boolean
  readonly autocommit: boolean
}

export interface MysqlReply {
  readonly rows: readonly (readonly unknown[])[]
  /** Null if the driver does not pass it on: mysql2 does not along with rows. */
  readonly status: SessionStatus | null
}

interface Emitter {
  on(event: 'error', listener: () => void): unknown
  removeListener(event: 'error', listener: () => void): unknown
}

/** The only way to the socket of `mariadb`, which learns from its error that the connection is gone. */
interface Inside {
  readonly __tests?: { getSocket?(): { destroy(error: Error): unknown } | undefined }
}

/** Why a connection of `mysql2` is of no more use. */
interface Mysql2Core {
  readonly _fatalError?: Error | null
  readonly _protocolError?: Error | null
}

/** What `mysql2` and `mariadb` have in common on one connection, by the text protocol. */
export class MysqlSession {
  readonly #connection: MysqlConnection
  /** The same for as long as the connection is open, whatever is wrapped around it. */
  readonly #core: object

  constructor(connection: MysqlConnection) {
    const { connection: inner, info } = connection as { connection?: object; info?: object }
    this.#connection = connection
    this.#core = inner ?? info ?? connection
  }

  async query(sql: string): Promise<MysqlReply> {
    const options = { sql, rowsAsArray: true, nestTables: false, metaAsArray: false, typeCast: asRead }
    const result: unknown = await this.#connection.query(options)
    // mysql2 gives `[rows, fields]`, or a header in place of the rows.
    const given: unknown = this.#isMysql2 ? (result as unknown[])[0] : result
    return { rows: Array.isArray(given) ? (given as unknown[][]) : [], status: this.#statusIn(given) }
  }

  /** Whether a transaction is open, and statements commit by themselves. Costs a round trip with mysql2. */
  async status(): Promise<SessionStatus> {
    const { status } = this.#isMysql2 ? await this.query('do 0') : { status: this.#statusIn(null) }
    return status ?? { inTransaction: false, autocommit: true }
  }

  get core(): object {
    return this.#core
  }

  /** mysql2 before 3.22.2 does not say in an error that the connection is gone with it. */
  get isGone(): boolean {
    const { _fatalError: fatal, _protocolError: broken } = this.#core as Mysql2Core
    return Boolean(fatal ?? broken)
  }

  /** An error of the connection would be nobody's and end the process while it is lent. The result stops listening. */
  hearErrors(listener: (error: Error) => void = ignore): () => void {
    const emitter = (this.#isMysql2 ? this.#core : this.#connection) as Partial<Emitter>
    emitter.on?.('error', listener as () => void)
    return () => void emitter.removeListener?.('error', listener as () => void)
  }

  /** Of a pool: back to it. */
  release(): void {
    const released = (this.#connection as Partial<MysqlPoolConnection>).release?.()
    if (released instanceof Promise) released.catch(ignore)
  }

  /**
   * At once, and without a word to the server. By itself `mariadb` would open another connection for a KILL if an
   * answer is still due; should that one break, nobody hears the rejection, and the process ends.
   */
  destroy(): void {
    const { __tests: inside } = this.#connection as MysqlConnection & Inside
    const socket = inside?.getSocket?.()
    if (socket) socket.destroy(new Error('the connection was given up'))
    else this.#connection.destroy()
  }

  get #isMysql2(): boolean {
    return !('info' in this.#connection)
  }

  #statusIn(header: unknown): SessionStatus | null {
    const bits = this.#isMysql2
      ? (header as { serverStatus?: unknown } | null)?.serverStatus
      : (this.#core as { status?: unknown }).status
    if (typeof bits !== 'number') return null
    return { inTransaction: (bits & IN_TRANSACTION) !== 0, autocommit: (bits & AUTOCOMMIT) !== 0 }
  }
}

/** In place of one that the user's pool has for all that it reads: only another function overrides it. */
function asRead(_field: unknown, next: () => unknown): unknown {
  return next()
}

/** Text, whatever the driver makes of it. */
export function textOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString() : String(value)
}

function ignore(): void {}
