import type { Duration, Store } from '../src/index.ts'

export const SERVED = [
  'sqlite',
  'postgres',
  'redis',
  'redis-sentinel',
  'redis-cluster',
  'mongo',
  'mariadb',
] as const

/** What holds locks for more than one process. */
export type Served = (typeof SERVED)[number]

export type Kind = Served | 'memory'

/** A store at a URL, or in a file. `keep` is for those that have it. */
export async function storeAt(kind: Kind, url: string, keep: Duration = '1h'): Promise<Store> {
  // Not at the top: the names above are asked for before anything was built.
  const { holdfast, importMongo, importMysql, importPostgres, importRedis, importSqlite } =
    await import('./built.ts')
  switch (kind) {
    case 'memory':
      return holdfast.memoryStore()
    case 'sqlite':
      return (await importSqlite()).sqliteStore(url)
    case 'postgres':
      return (await importPostgres()).postgresStore(url, { keep })
    case 'mongo':
      return (await importMongo()).mongoStore(url, { keep })
    case 'mariadb':
      return (await importMysql()).mysqlStore(url, { keep })
    case 'redis':
    case 'redis-sentinel':
    case 'redis-cluster':
      return (await importRedis()).redisStore(url)
  }
}
