import type { OpenArena } from './arena.ts'

export type StoreName =
  | 'sqlite'
  | 'postgres'
  | 'redis'
  | 'redis-sentinel'
  | 'redis-cluster'
  | 'mongo'
  | 'mariadb'

/** Each is loaded when it is asked for: to load one is to look for its server on this machine. */
const ARENAS: Readonly<Record<StoreName, () => Promise<{ readonly default: OpenArena }>>> = {
  sqlite: () => import('./sqlite.ts'),
  postgres: () => import('./postgres.ts'),
  redis: () => import('./redis.ts'),
  'redis-sentinel': () => import('./redis-sentinel.ts'),
  'redis-cluster': () => import('./redis-cluster.ts'),
  mongo: () => import('./mongo.ts'),
  mariadb: () => import('./mariadb.ts'),
}

export const STORES: readonly StoreName[] = Object.keys(ARENAS) as StoreName[]

export function isStore(name: string): name is StoreName {
  return Object.hasOwn(ARENAS, name)
}

export async function arenaOf(store: StoreName): Promise<OpenArena> {
  return (await ARENAS[store]()).default
}
