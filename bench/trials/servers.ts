import type { MongoServer } from '../../test/servers/mongo.ts'
import type { PostgresServer } from '../../test/servers/postgres.ts'
import type { RedisCluster } from '../../test/servers/redis-cluster.ts'
import type { RedisServer } from '../../test/servers/redis.ts'
import type { StartedServer } from '../../test/servers/started-server.ts'
import type { Kind } from './contenders.ts'

export type Server =
  | { readonly kind: 'redis'; readonly server: RedisServer }
  | { readonly kind: 'redis-cluster'; readonly server: RedisCluster }
  | { readonly kind: 'postgres'; readonly server: PostgresServer }
  | { readonly kind: 'mongo'; readonly server: MongoServer }
  | { readonly kind: 'etcd'; readonly server: StartedServer & { readonly url: string } }
  | { readonly kind: 'none'; readonly server: null }

/** Real servers, started when they are first needed, each used by one play at a time. */
export class Servers {
  readonly #idle: Server[] = []
  readonly #all: Server[] = []

  async borrow(kind: Kind): Promise<Server> {
    const index = this.#idle.findIndex((each) => each.kind === kind)
    const [found] = index < 0 ? [] : this.#idle.splice(index, 1)
    if (found) return found
    const started = await start(kind)
    this.#all.push(started)
    return started
  }

  giveBack(server: Server): void {
    this.#idle.push(server)
  }

  async stop(): Promise<void> {
    await Promise.allSettled(this.#all.map(async ({ server }) => server?.stop()))
  }
}

async function start(kind: Kind): Promise<Server> {
  switch (kind) {
    case 'redis':
      return { kind, server: await (await import('../../test/servers/redis.ts')).startRedis() }
    case 'redis-cluster': {
      const { CALM, startRedisCluster } = await import('../../test/servers/redis-cluster.ts')
      return { kind, server: await startRedisCluster({ settings: CALM }) }
    }
    case 'postgres':
      return { kind, server: await (await import('../../test/servers/postgres.ts')).startPostgres() }
    case 'mongo':
      return {
        kind,
        server: await (await import('../../test/servers/mongo.ts')).startMongo({ replicaSet: 'trials' }),
      }
    case 'etcd':
      return { kind, server: await (await import('../../test/servers/etcd.ts')).startEtcd() }
    case 'none':
      return { kind, server: null }
  }
}

/** Its version, for people. */
export async function versionOf({ kind, server }: Server): Promise<string | null> {
  switch (kind) {
    case 'redis':
      return `Redis ${/redis_version:(\S+)/.exec(String(await server.command('info', 'server')))?.[1]}`
    case 'postgres': {
      const { onServer } = await import('../postgres/database.ts')
      const { rows } = await onServer(server.url, (client) => client.query('show server_version'))
      return `PostgreSQL ${String((rows[0] as Record<string, unknown>)['server_version'])}`
    }
    case 'mongo':
      return `MongoDB ${String((await server.command('admin', { buildInfo: 1 }))['version'])}`
    case 'etcd': {
      const { etcdserver } = (await (await fetch(`${server.url}/version`)).json()) as { etcdserver: string }
      return `etcd ${etcdserver}`
    }
    default:
      return null
  }
}
