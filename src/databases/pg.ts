import { has } from './methods.ts'

/** One statement, as `pg` takes it. With a `name`, each connection parses and plans it once. */
export interface PgQuery {
  readonly text: string
  readonly values?: unknown[]
  readonly name?: string
  readonly rowMode?: 'array'
}

type Listener = (...args: unknown[]) => void

/** The part of a `Client` of `pg` that holdfast needs. */
export interface PgClient {
  query(query: PgQuery): Promise<{ readonly rows: unknown[] }>
  on(event: string, listener: (...args: never[]) => void): unknown
  removeListener(event: string, listener: Listener): unknown
}

export interface PgPoolClient extends PgClient {
  /** With `true` or an error the connection is closed instead of going back to the pool. */
  release(destroy?: boolean | Error): void
}

/** The part of a `Pool` of `pg` that holdfast needs. */
export interface PgPool {
  connect(): Promise<PgPoolClient>
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: string, listener: Listener): unknown
  readonly totalCount: number
  readonly idleCount: number
  readonly waitingCount: number
}

export function isPgPool(value: unknown): value is PgPool {
  return has(value, 'connect', 'on') && typeof Reflect.get(value as object, 'totalCount') === 'number'
}

/** Also true of a client that a pool lent; false of the pool. */
export function isPgClient(value: unknown): value is PgClient {
  return has(value, 'query', 'on') && !isPgPool(value)
}

/**
 * Whether `connect()` was never called on this client, or failed: it would keep every query waiting for ever. False
 * of one that is still connecting, and of one that does not tell.
 */
export function isUnconnected(client: object): boolean {
  const { _connected, _connecting, _connectionError } = client as Record<string, unknown>
  return _connected === false && (_connecting === false || _connectionError === true)
}

/**
 * I: idle, T: in a transaction, E: in one that failed; as of the server's last answer. Undefined where an older `pg`
 * does not tell.
 */
export function transactionStatus(client: object): unknown {
  return (client as { getTransactionStatus?: () => unknown }).getTransactionStatus?.()
}

/** Of a client that has lost its connection `pg` goes on to tell what it was in; what it is sent next fails by itself. */
export function isInTransaction(client: PgClient): boolean {
  const { _queryable, _ended } = client as unknown as Record<string, unknown>
  if (_queryable === false || _ended === true) return false
  const status = transactionStatus(client)
  return status === 'T' || status === 'E'
}
