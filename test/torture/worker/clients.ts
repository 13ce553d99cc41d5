/**
 * The client of one worker, as a user makes it: each driver that a store takes, or a URL. Drivers are loaded when they
 * are asked for, since there are many workers and each has one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../../src/store.ts'
import { mongoStore } from '../../../src/stores/mongo/index.ts'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { type RedisLike, redisStore } from '../../../src/stores/redis/index.ts'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'

export interface StoreAddress {
  readonly kind: 'sqlite' | 'postgres' | 'redis' | 'redis-sentinel' | 'redis-cluster' | 'mongo' | 'mariadb'
  readonly driver: string
  /** As `createLocks` takes it; of SQLite, the path. */
  readonly url: string
  readonly nodes?: readonly { readonly host: string; readonly port: number }[]
  /** What the sentinels call the master. */
  readonly master?: string
}

/** What is wrong with a client, for those who read the history. */
export type Complain = (text: string) => void

export interface Client {
  readonly store: Store
  /** Ends what the worker opened, not the store. None where holdfast has opened all. */
  end?(): Promise<unknown>
  /** Its driver may leave a connection of its own that nobody can close. */
  readonly leaks?: boolean
}

export async function openClient(address: StoreAddress, complain: Complain): Promise<Client> {
  const { kind, driver, url } = address
  const heard = (error: unknown): void => complain(`${driver}: ${String(error)}`)
  switch (kind) {
    case 'sqlite':
      return { store: sqliteStore(url) }
    case 'postgres':
      return postgres(url, driver, heard)
    case 'mariadb':
      return mariadb(url, driver)
    case 'mongo':
      return mongo(url, driver)
    default:
      return driver === 'ioredis'
        ? ioredis(address, heard)
        : driver === 'node-redis'
          ? nodeRedis(address, heard)
          : { store: redisStore(url) }
  }
}

async function postgres(url: string, driver: string, heard: (error: unknown) => void): Promise<Client> {
  if (driver === 'url') return { store: postgresStore(url) }
  if (driver === 'pg') {
    const { default: pg } = await import('pg')
    const pool = new pg.Pool({ connectionString: url, max: 4 })
    pool.on('error', heard)
    return { store: postgresStore(pool), end: () => pool.end() }
  }
  const { default: connect } = await import('postgres')
  // As docs/stores/postgres.md says: else a connection that is cut early ends the process.
  // And it waits for up to 20 s before it connects anew, which is as long as the calm at the end of a round.
  const sql = connect(url, { max: 4, onnotice: () => {}, fetch_types: false, backoff: () => 1 })
  return { store: postgresStore(sql), end: () => sql.end({ timeout: 1 }) }
}

async function mariadb(url: string, driver: string): Promise<Client> {
  if (driver === 'url') return { store: mysqlStore(url) }
  if (driver === 'mysql2') {
    const { default: mysql } = await import('mysql2/promise')
    const pool = mysql.createPool({ uri: url, connectionLimit: 4 })
    return { store: mysqlStore(pool), end: () => pool.end() }
  }
  const { createPool } = await import('mariadb')
  const pool = createPool(`${url.replace(/^mysql:/, 'mariadb:')}?connectionLimit=4`)
  return { store: mysqlStore(pool), end: () => pool.end() }
}

async function mongo(url: string, driver: string): Promise<Client> {
  if (driver === 'url') return { store: mongoStore(url) }
  const { MongoClient } = await import('mongodb')
  const client = new MongoClient(url)
  return { store: mongoStore(client), end: () => client.close() }
}

async function ioredis(address: StoreAddress, heard: (error: unknown) => void): Promise<Client> {
  const { Cluster, Redis } = await import('ioredis')
  const { kind, url, nodes = [], master = '' } = address
  const client =
    kind === 'redis-cluster'
      ? new Cluster([...nodes])
      : kind === 'redis-sentinel'
        ? new Redis({ sentinels: [...nodes], name: master })
        : new Redis(url)
  client.on('error', heard)
  // The pool of a `Cluster` forgets a connection to an address when an older one to it ends late.
  return { store: redisStore(client), end: async () => client.disconnect(), leaks: kind === 'redis-cluster' }
}

async function nodeRedis(address: StoreAddress, heard: (error: unknown) => void): Promise<Client> {
  const { createClient, createCluster, createSentinel } = await import('redis')
  const { kind, url, nodes = [], master = '' } = address
  // As docs/stores/redis.md says: else a connection that breaks may leave the client out of step for good.
  const queueless = { disableOfflineQueue: true }
  const make = (): Connecting =>
    kind === 'redis-cluster'
      ? createCluster({ rootNodes: nodes.map((socket) => ({ socket })), defaults: queueless })
      : kind === 'redis-sentinel'
        ? createSentinel({ name: master, sentinelRootNodes: [...nodes], nodeClientOptions: queueless })
        : createClient({ url, ...queueless })
  // A worker may be born into a fault: a client of several nodes gives up then, and another one is made.
  for (;;) {
    const client = make()
    client.on('error', heard)
    try {
      await client.connect()
      return {
        store: redisStore(client as unknown as RedisLike),
        end: async () => client.destroy(),
        // A cluster client that drops a node while it connects to it does not hear of the connection, which then stays.
        leaks: kind === 'redis-cluster',
      }
    } catch (error) {
      heard(error)
      await sleep(200)
    }
  }
}

interface Connecting {
  on(event: 'error', listener: (error: unknown) => void): unknown
  connect(): Promise<unknown>
  destroy(): unknown
}
