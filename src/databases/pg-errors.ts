import type { PgPool, PgPoolClient } from './pg.ts'

const ignore = (): void => {}

/**
 * A pool stops listening to the errors of a new connection a moment before whoever asked for it can. An error that
 * came in the same packet as the welcome would be nobody's, and end the process.
 */
const shield = (client: PgPoolClient): void => {
  client.on('error', ignore)
  setImmediate(() => client.removeListener('error', ignore))
}

/**
 * An idle connection that breaks makes its pool emit 'error', which ends the process if nobody listens. Whoever
 * uses the pool next finds out by itself. The result stops listening.
 */
export function listenToErrors(pool: PgPool): () => void {
  const { on } = pool as unknown as {
    on: (event: string, listener: (client: PgPoolClient) => void) => unknown
  }
  on.call(pool, 'error', ignore)
  on.call(pool, 'connect', shield)
  return () => {
    pool.removeListener('error', ignore)
    pool.removeListener('connect', shield as () => void)
  }
}

const heard = new WeakSet<object>()

/** Once for each pool, for as long as there is one. */
export function hearErrors(pool: PgPool): void {
  if (heard.has(pool)) return
  heard.add(pool)
  listenToErrors(pool)
}

/** What a pool says of one that has waited for `connectionTimeoutMillis`: whatever for, it looks the same. */
export function isPoolTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect'
}

/** A connection was given up after `connectionTimeoutMillis`, because the server did not answer. */
export function isConnectTimeout(error: unknown): boolean {
  return error instanceof Error && /^(timeout expired$|Connection terminated due to conn)/.test(error.message)
}

export const UNREACHED = 'the server cannot be reached; check host, port and firewall'

/** Why a pool gives no connection, if it is not that all are in use; null if it is, or if the pool does not tell. */
export function unreachedBy(pool: PgPool): string | null {
  const { _clients: clients, options } = pool as {
    _clients?: unknown
    options?: { connectionTimeoutMillis?: number }
  }
  if (!Array.isArray(clients)) return null
  const connecting = clients.filter(({ _connected }) => _connected === false).length
  if (connecting === 0) return null
  const patience = options?.connectionTimeoutMillis ? '' : ', and set connectionTimeoutMillis on your pool'
  return `${connecting} of ${clients.length} are still trying to reach the server: check host, port and firewall${patience}`
}
