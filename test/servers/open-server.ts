/** For benches and for the tests of a project: a server that no one restarts. */
export interface OpenServer {
  readonly url: string
  /** Stops it if it was started here. */
  stop(): Promise<void>
}

const openers = {
  postgres: async (): Promise<OpenServer> =>
    given('HOLDFAST_POSTGRES_URL') ?? (await import('./postgres.ts')).startPostgres(),
  /** MariaDB or MySQL. */
  mariadb: async (): Promise<OpenServer> =>
    given('HOLDFAST_MYSQL_URL') ?? (await import('./mariadb.ts')).startMariadb(),
  redis: async (): Promise<OpenServer> =>
    given('HOLDFAST_REDIS_URL') ?? (await import('./redis.ts')).startRedis(),
  /** The URLs of its nodes with commas between them; one node is enough. */
  'redis-cluster': async (): Promise<OpenServer> => given('HOLDFAST_REDIS_CLUSTER_URL') ?? calmRedisCluster(),
  /** A replica set of one node. */
  mongo: async (): Promise<OpenServer> =>
    given('HOLDFAST_MONGODB_URL') ??
    given('MONGODB_URL') ??
    (await import('./mongo.ts')).startMongo({ replicaSet: 'holdfast' }),
  'mongo-standalone': async (): Promise<OpenServer> =>
    given('HOLDFAST_MONGODB_STANDALONE_URL') ?? (await import('./mongo.ts')).startMongo(),
  /** A replica set of three nodes, which no one kills: a machine with much to do is no reason for an election. */
  'mongo-set': async (): Promise<OpenServer> =>
    given('HOLDFAST_MONGODB_SET_URL') ??
    (await import('./mongo-set.ts')).startMongoSet({ electionTimeoutMs: 15_000 }),
}

export type ServerKind = keyof typeof openers

/** The server that an environment variable names, else one that is started for it. */
export async function openServer(kind: ServerKind): Promise<OpenServer> {
  return openers[kind]()
}

function given(variable: string): OpenServer | undefined {
  const url = process.env[variable]
  return url ? { url, stop: () => Promise.resolve() } : undefined
}

async function calmRedisCluster(): Promise<OpenServer> {
  const { CALM, startRedisCluster } = await import('./redis-cluster.ts')
  const cluster = await startRedisCluster({ settings: CALM })
  return { url: cluster.urls.join(','), stop: () => cluster.stop() }
}
