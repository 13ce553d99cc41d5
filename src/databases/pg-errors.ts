import type { PgPool, PgPoolClient } from './pg.ts'

const heard = new WeakSet<object>()

const ignore = (): void => {}

/**
 * An idle connection that breaks makes its pool emit 'error', which ends the process if nobody listens. Whoever
 * uses the pool next finds out by itself. Listens once for each pool, for as long as there is one.
 */
export function hearErrors(pool: PgPool): void {
  if (heard.has(pool)) return
  heard.add(pool)
  pool.on('error', ignore)
  // A pool stops listening to a new connection a moment before whoever asked for it can. An error that came in the
  // same packet as the welcome would be nobody's.
  const { on } = pool as unknown as {
    on: (event: 'connect', listener: (client: PgPoolClient) => void) => unknown
  }
  on.call(pool, 'connect', (client) => {
    client.on('error', ignore)
    setImmediate(() => client.removeListener('error', ignore))
  })
}
