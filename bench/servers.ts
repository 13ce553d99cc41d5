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

/** Started here, once, and found by every round. Gives `work` its name and version; null if the group needs none. */
export async function withServerFor(
  group: string,
  work: (name: string | null) => Promise<void>,
): Promise<void> {
  const wanted = SERVERS.find(({ kind }) => group.startsWith(kind))
  if (!wanted) return work(null)
  const server = await openServer(wanted.kind)
  process.env[wanted.variable] = server.url
  try {
    await work(await wanted.named(server.url))
  } finally {
    await server.stop()
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
