import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'libsql'
import { mysqlStatement } from '../../test/servers/mysql-statement.ts'
import type { RedisServer } from '../../test/servers/redis.ts'
import { ServerFolder } from '../../test/servers/server-folder.ts'
import { onServer as onPostgres } from '../postgres/database.ts'
import type { Served } from '../store-at.ts'
import type { Outside } from './sample.ts'

/** A server with nothing in it, and one who looks at it from outside of the process that is watched. */
export interface Watched {
  readonly url: string
  look(): Promise<Outside>
  stop(): Promise<unknown>
}

const TABLE = 'holdfast_locks'
/** A machine with much to do is no reason for a fail-over. */
const PATIENCE_MS = 30_000

export const WATCHED: Record<Served, () => Promise<Watched>> = {
  sqlite: async () => {
    const folder = new ServerFolder('sqlite', 'SIGTERM', undefined)
    const url = join(folder.path, 'locks.db')
    const size = (file: string): number => (existsSync(file) ? statSync(file).size : 0)
    return {
      url,
      look: async () => {
        const db = new Database(url, { readonly: true })
        const { records } = db.prepare(`select count(*) as records from ${TABLE}`).get() as {
          records: number
        }
        db.close()
        return { connections: 0, records, storageKiB: (size(url) + size(`${url}-wal`)) / 1024 }
      },
      stop: () => folder.remove(),
    }
  },

  postgres: async () => {
    const server = await (await import('../../test/servers/postgres.ts')).startPostgres()
    const statement = `select count(*) as records, pg_total_relation_size('${TABLE}') / 1024.0 as storage,
  (select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()) as connections
from ${TABLE}`
    return {
      url: server.url,
      look: async () => numbersOf((await onPostgres(server.url, (client) => client.query(statement))).rows),
      stop: () => server.stop(),
    }
  },

  mariadb: async () => {
    const { startMariadb } = await import('../../test/servers/mariadb.ts')
    // The tests are content with less than a million records take.
    const server = await startMariadb({ settings: { innodb_buffer_pool_size: '512M' } })
    const statement = `select count(*) as records,
  (select file_size / 1024 from information_schema.innodb_sys_tablespaces where name = 'mysql/${TABLE}') as storage,
  (select count(*) from information_schema.processlist where command <> 'Daemon' and id <> connection_id()) as connections
from ${TABLE}`
    return {
      url: server.url,
      look: async () => numbersOf((await mysqlStatement(server.url, statement)) as object[]),
      stop: () => server.stop(),
    }
  },

  mongo: async () => {
    const { startMongo } = await import('../../test/servers/mongo.ts')
    const server = await startMongo({ replicaSet: 'holdfast' })
    return {
      url: server.url.replace('/?', '/soak?'),
      look: async () => {
        const { count, storageSize, totalIndexSize } = await server.command('soak', { collStats: TABLE })
        const { connections } = await server.command('admin', { serverStatus: 1 })
        const storageKiB = (Number(storageSize) + Number(totalIndexSize)) / 1024
        return { connections: Number(connections.current), records: Number(count), storageKiB }
      },
      stop: () => server.stop(),
    }
  },

  redis: async () => {
    const server = await (await import('../../test/servers/redis.ts')).startRedis()
    return { url: server.url, look: () => lookAt([server], [server]), stop: () => server.stop() }
  },

  'redis-sentinel': async () => {
    const set = await (await import('../../test/servers/redis-sentinel.ts')).startSentinel()
    const patience = ['set', set.name, 'down-after-milliseconds', PATIENCE_MS] as const
    for (const sentinel of set.sentinelServers) await sentinel.command('sentinel', ...patience)
    const hosts = set.sentinels.map(({ host, port }) => `${host}:${port}`).join(',')
    return {
      url: `redis+sentinel://${hosts}/${set.name}`,
      look: async () => lookAt([await set.master()], [...set.nodes, ...set.sentinelServers]),
      stop: () => set.stop(),
    }
  },

  'redis-cluster': async () => {
    const cluster = await (await import('../../test/servers/redis-cluster.ts')).startRedisCluster()
    for (const node of cluster.nodes) await node.command('config', 'set', 'cluster-node-timeout', PATIENCE_MS)
    return {
      url: `redis+cluster://${cluster.nodes.map(({ host, port }) => `${host}:${port}`).join(',')}`,
      look: async () => lookAt(await cluster.masters(), cluster.nodes),
      stop: () => cluster.stop(),
    }
  },
}

function numbersOf(rows: readonly object[]): Outside {
  const { connections, records, storage } = (rows[0] ?? {}) as Record<string, unknown>
  return { connections: Number(connections), records: Number(records), storageKiB: Number(storage) }
}

/** Fences are among the keys: a bounded number. */
async function lookAt(masters: readonly RedisServer[], all: readonly RedisServer[]): Promise<Outside> {
  let [connections, records, storageKiB] = [0, 0, 0]
  for (const node of all) {
    const clients = String(await node.command('client', 'list'))
    connections += clients.split('\n').filter((line) => line.includes(' name=holdfast ')).length
  }
  for (const node of masters) {
    records += Number(await node.command('dbsize'))
    const memory = String(await node.command('info', 'memory'))
    storageKiB += Number(/used_memory_dataset:(\d+)/.exec(memory)?.[1]) / 1024
  }
  return { connections, records, storageKiB }
}
