import { readFileSync } from 'node:fs'
import type { Access, Library } from './library.ts'

export type Kind = 'redis' | 'redis-cluster' | 'postgres' | 'mongo' | 'etcd' | 'none'

export type Name =
  | 'holdfast'
  | 'holdfast-postgres'
  | 'holdfast-mongo'
  | 'holdfast-memory'
  | 'redlock'
  | 'sesamecare'
  | 'redlock-universal'
  | 'redis-semaphore'
  | 'redisson'
  | 'redisson-streams'
  | 'verrou'
  | 'verrou-postgres'
  | 'verrou-memory'
  | 'simple-redis-mutex'
  | 'advisory-lock'
  | 'mongo-locks'
  | 'mongo-dlock'
  | 'etcd3'
  | 'etcd3-election'
  | 'raw'

export interface Contender {
  readonly package: string
  /** What of the package is meant, if it has more than one. */
  readonly part?: string
  readonly kind: Kind
  /** When, after the grant, a section first renews its lease. Absent: it does not. */
  readonly renewsAfterMs?: (leaseMs: number) => number
  /** A new process for each run: what goes on after it is closed would disturb the next one. */
  readonly oneRun?: boolean
  readonly open: (access: Access) => Promise<Library>
}

const third = (leaseMs: number): number => leaseMs / 3
const late = (leaseMs: number): number => leaseMs * 0.8
/** Half a second before what it takes for the end: a hundredth of the lease and 2 ms earlier. */
const redlocks = (leaseMs: number): number => leaseMs * 0.99 - 2 - 500

export const CONTENDERS: Record<Name, Contender> = {
  holdfast: {
    package: 'holdfast',
    part: 'Redis',
    kind: 'redis',
    renewsAfterMs: third,
    open: async (access) => (await import('./libraries/holdfast.ts')).onRedis(access),
  },
  'holdfast-postgres': {
    package: 'holdfast',
    part: 'PostgreSQL',
    kind: 'postgres',
    renewsAfterMs: third,
    open: async (access) => (await import('./libraries/holdfast.ts')).onPostgres(access),
  },
  'holdfast-mongo': {
    package: 'holdfast',
    part: 'MongoDB',
    kind: 'mongo',
    renewsAfterMs: third,
    open: async (access) => (await import('./libraries/holdfast.ts')).onMongo(access),
  },
  'holdfast-memory': {
    package: 'holdfast',
    part: 'memory',
    kind: 'none',
    renewsAfterMs: third,
    open: async () => (await import('./libraries/holdfast.ts')).onMemory(),
  },
  redlock: {
    package: 'redlock',
    kind: 'redis',
    renewsAfterMs: redlocks,
    open: async (access) => (await import('./libraries/redlock.ts')).redlock(access),
  },
  sesamecare: {
    package: '@sesamecare-oss/redlock',
    kind: 'redis',
    renewsAfterMs: redlocks,
    open: async (access) => (await import('./libraries/redlock.ts')).fork(access),
  },
  'redlock-universal': {
    package: 'redlock-universal',
    kind: 'redis',
    renewsAfterMs: late,
    open: async (access) => (await import('./libraries/redlock-universal.ts')).redlockUniversal(access),
  },
  'redis-semaphore': {
    package: 'redis-semaphore',
    kind: 'redis',
    renewsAfterMs: late,
    open: async (access) => (await import('./libraries/redis-semaphore.ts')).redisSemaphore(access),
  },
  redisson: {
    package: 'node-redisson',
    kind: 'redis',
    renewsAfterMs: third,
    oneRun: true,
    open: async (access) => (await import('./libraries/redisson.ts')).redisson(access),
  },
  'redisson-streams': {
    package: 'node-redisson',
    part: 'streams',
    kind: 'redis',
    renewsAfterMs: third,
    oneRun: true,
    open: async (access) => (await import('./libraries/redisson.ts')).redisson(access, 'streams'),
  },
  verrou: {
    package: '@verrou/core',
    part: 'Redis',
    kind: 'redis',
    open: async (access) => (await import('./libraries/verrou.ts')).onRedis(access),
  },
  'verrou-postgres': {
    package: '@verrou/core',
    part: 'Knex, PostgreSQL',
    kind: 'postgres',
    open: async (access) => (await import('./libraries/verrou.ts')).onPostgres(access),
  },
  'verrou-memory': {
    package: '@verrou/core',
    part: 'memory',
    kind: 'none',
    open: async () => (await import('./libraries/verrou.ts')).onMemory(),
  },
  'simple-redis-mutex': {
    package: 'simple-redis-mutex',
    kind: 'redis',
    open: async (access) => (await import('./libraries/simple-redis-mutex.ts')).simpleRedisMutex(access),
  },
  'advisory-lock': {
    package: 'advisory-lock',
    kind: 'postgres',
    open: async (access) => (await import('./libraries/advisory-lock.ts')).advisoryLock(access),
  },
  'mongo-locks': {
    package: 'mongo-locks',
    kind: 'mongo',
    renewsAfterMs: () => 10_000,
    open: async (access) => (await import('./libraries/mongo.ts')).mongoLocks(access),
  },
  'mongo-dlock': {
    package: 'mongo-dlock',
    kind: 'mongo',
    renewsAfterMs: late,
    open: async (access) => (await import('./libraries/mongo.ts')).mongoDlock(access),
  },
  etcd3: {
    package: 'etcd3',
    part: 'lock',
    kind: 'etcd',
    renewsAfterMs: third,
    open: async (access) => (await import('./libraries/etcd.ts')).etcdLock(access),
  },
  'etcd3-election': {
    package: 'etcd3',
    part: 'election',
    kind: 'etcd',
    renewsAfterMs: third,
    open: async (access) => (await import('./libraries/etcd.ts')).etcdElection(access),
  },
  raw: {
    package: 'ioredis',
    part: '`SET NX PX` by hand',
    kind: 'redis',
    open: async (access) => (await import('./libraries/raw.ts')).rawCommands(access),
  },
}

export function contender(name: Name): Contender {
  return CONTENDERS[name]
}

/** With its version, and what of it was used. */
export function labelOf(name: Name): string {
  const { package: of, part } = contender(name)
  const version = of === 'holdfast' ? '' : ` ${versionOf(of)}`
  return `${of === 'holdfast' ? '**holdfast**' : of}${version}${part ? ` (${part})` : ''}`
}

export function versionOf(name: string): string {
  return (JSON.parse(readFileSync(manifestOf(name), 'utf8')) as { version: string }).version.replace(/^v/, '')
}

export function manifestOf(name: string): URL {
  const path = name === 'holdfast' ? '../../package.json' : `../../node_modules/${name}/package.json`
  return new URL(path, import.meta.url)
}
