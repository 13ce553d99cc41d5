import { openServer, type OpenServer, type ServerKind } from '../servers/open-server.ts'

/** Where tests look for a server that runs already, and whose tests do. */
const SHARED: Partial<Record<ServerKind, readonly [variable: string, tests: RegExp]>> = {
  postgres: ['HOLDFAST_POSTGRES_URL', /postgres|transaction-/],
  redis: ['HOLDFAST_REDIS_URL', /redis(?!-cluster)/],
  'redis-cluster': ['HOLDFAST_REDIS_CLUSTER_URL', /redis-cluster/],
  mongo: ['HOLDFAST_MONGODB_URL', /mongo/],
  mariadb: ['HOLDFAST_MYSQL_URL', /mysql/],
}

/** One server of a kind for all mutants of a run, each of which has a database, or a prefix, of its own. */
export class Servers {
  readonly env: NodeJS.ProcessEnv = {}
  readonly #open: OpenServer[] = []

  async start(files: readonly string[]): Promise<void> {
    for (const [kind, [variable, tests]] of Object.entries(SHARED)) {
      if (process.env[variable] || !files.some((file) => tests.test(file))) continue
      const server = await openServer(kind as ServerKind)
      this.#open.push(server)
      this.env[variable] = server.url
    }
  }

  async stop(): Promise<void> {
    await Promise.allSettled(this.#open.splice(0).map((server) => server.stop()))
  }
}
