import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import type { Store } from '../../src/store.ts'
import { type RedisLike, redisStore, type RedisStoreOptions } from '../../src/stores/redis/index.ts'
import { Names } from '../../src/stores/redis/names.ts'
import type { RedisServer } from '../servers/redis.ts'
import type { Call } from './redis-child.ts'
import { atEnd } from './stage.ts'
import { TestProcess } from './test-process.ts'

export { atEnd, atLast, failureOf, failureWithin, locksOn, proxyTo, until } from './stage.ts'

/**
 * The least that a user of one server needs for locks with the default prefix, so that nothing is refused: the last two
 * lines are what clients ask for when they connect, and could do without. More for `replicas`: `+wait`; for another
 * database than 0: `+select`; from Redis 7.2 on, where clients tell their names: `+client|setinfo`.
 */
export const LEAST_RIGHTS: readonly string[] = [
  'resetkeys resetchannels -@all ~holdfast:* &holdfast:*',
  '+evalsha +eval +time +get +mget +set +mset +del +pexpire +pttl +scan',
  '+publish +subscribe +unsubscribe +ping',
  '+info +client|setname',
].flatMap((line) => line.split(' '))

export interface ClientKind {
  readonly name: string
  readonly driver: 'ioredis' | 'node-redis' | 'url'
  /** What the store is given, as a user has it; ended after the test. */
  open(url: string): Promise<string | RedisLike>
}

export const everyClient: readonly ClientKind[] = [
  { name: 'ioredis', driver: 'ioredis', open: async (url) => ioredisOn(url) },
  { name: 'node-redis', driver: 'node-redis', open: async (url) => nodeRedisOn(url) },
  { name: 'a URL', driver: 'url', open: async (url) => url },
]

/** Ended after the test. */
export function ioredisOn(url: string, options: object = {}): Redis {
  const redis = new Redis(url, options)
  // What goes wrong with the client is its owner's to hear.
  redis.on('error', () => {})
  atEnd(() => redis.disconnect())
  return redis
}

type NodeRedisOptions = NonNullable<Parameters<typeof createClient>[0]>

/** Connecting; ended after the test. */
export function nodeRedisOn(url: string, options: NodeRedisOptions = {}): RedisLike {
  const redis = createClient({ url, ...options })
  redis.on('error', () => {})
  atEnd(() => redis.isOpen && redis.destroy())
  // One that cannot connect yet goes on trying.
  redis.connect().catch(() => {})
  return redis as unknown as RedisLike
}

/** Closed after the test. */
export function storeOn(client: string | RedisLike, options?: RedisStoreOptions): Store {
  const store = redisStore(client, options)
  atEnd(() => store.close())
  return store
}

const CHILD = fileURLToPath(new URL('./redis-child.ts', import.meta.url))

export type RedisProcess = TestProcess<Call['name']>

export async function startProcesses(count: number): Promise<RedisProcess[]> {
  return Promise.all(Array.from({ length: count }, () => TestProcess.fork<Call['name']>(CHILD)))
}

/** Ended after the test. */
export async function oneProcess(): Promise<RedisProcess> {
  const one = await TestProcess.fork<Call['name']>(CHILD)
  atEnd(() => one.end())
  return one
}

/** What the record of a key is called. */
export function nameOf(key: string, prefix = 'holdfast'): string {
  return new Names(prefix, '').record(key)
}

/** How much of the lease is left, in ms, by the clock of the server, which is that of this machine. */
export async function leftOf(server: Pick<RedisServer, 'command'>, key: string): Promise<number> {
  return Number(await server.command('pexpiretime', nameOf(key))) - Date.now()
}

/** How often each command was called since the last CONFIG RESETSTAT, also from inside scripts. */
export async function callsOf(server: Pick<RedisServer, 'command'>): Promise<Record<string, number>> {
  const info = String(await server.command('info', 'commandstats'))
  const calls = [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)]
  return Object.fromEntries(calls.map(([, name, count]) => [name, Number(count)]))
}

/** The record of a key as it stands on the server; without anything if there is none. */
export async function recordOf(
  server: Pick<RedisServer, 'command'>,
  name: string,
): Promise<Record<string, unknown>> {
  const text = (await server.command('get', name)) as string | null
  return JSON.parse(text ?? '{}') as Record<string, unknown>
}

/** The processes that wait for a key, the next one first. */
export async function waitersOf(server: Pick<RedisServer, 'command'>, name: string): Promise<string[]> {
  const { waiters = '' } = await recordOf(server, name)
  return String(waiters).split(' ').slice(0, -1)
}
