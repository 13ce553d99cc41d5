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
