import { openServer, type ServerKind } from '../test/servers/open-server.ts'
import { onServer as onMariadb, versionOf as mariadbVersionOf } from './mariadb/server.ts'
import { onServer as onMongo, versionOf } from './mongo/server.ts'
import { onServer as onPostgres } from './postgres/database.ts'
import { infoOf, onServer as onRedis } from './redis/server.ts'

interface Server {
  readonly kind: ServerKind
  /** Tells every round where it is. */
  readonly variable: string
  readonly named: (url: string) => Promise<string>
}

const SERVERS: readonly Server[] = [
  { kind: 'postgres', variable: 'HOLDFAST_POSTGRES_URL', named: postgresAt },
  { kind: 'redis', variable: 'HOLDFAST_REDIS_URL', named: redisAt },
  { kind: 'mongo', variable: 'HOLDFAST_MONGODB_URL', named: mongoAt },
  { kind: 'mariadb', variable: 'HOLDFAST_MYSQL_URL', named: mariadbAt },
]

/** Started here, once, and found by every round. Gives `work` their names and versions. */
export async function withServers(
  groups: readonly string[],
  work: (names: readonly string[]) => Promise<void>,
): Promise<void> {
  const stops: (() => Promise<void>)[] = []
  const names: string[] = []
  try {
    for (const { kind, variable, named } of SERVERS) {
      if (!groups.some((group) => group.startsWith(kind))) continue
      const server = await openServer(kind)
      stops.push(() => server.stop())
      process.env[variable] = server.url
      names.push(await named(server.url))
    }
    await work(names)
  } finally {
    for (const stop of stops) await stop()
  }
}

async function postgresAt(url: string): Promise<string> {
  const { rows: found } = await onPostgres(url, (client) => client.query('show server_version'))
  return `PostgreSQL ${String((found[0] as Record<string, unknown>)['server_version'])}`
}

async function redisAt(url: string): Promise<string> {
  return `Redis ${await onRedis(url, (client) => infoOf(client, 'server', 'redis_version'))}`
}

async function mongoAt(url: string): Promise<string> {
  return `MongoDB ${await onMongo(url, versionOf)}, a replica set of one`
}

async function mariadbAt(url: string): Promise<string> {
  return `MariaDB ${await onMariadb(url, mariadbVersionOf)}`
}
