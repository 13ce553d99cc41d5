import { setTimeout } from 'node:timers/promises'
import { runStatement } from '../../test/servers/postgres-statement.ts'
import { type TcpProxy, tcpProxy } from '../../test/servers/tcp-proxy.ts'
import { onServer as onMongo } from '../mongo/server.ts'
import { onServer as onPostgres } from '../postgres/database.ts'
import { onServer as onRedis } from '../redis/server.ts'
import type { Server } from './servers.ts'
import type { Stage } from './trial.ts'

/** What the parent does to one server, and to a proxy before it. */
export class ServerStage implements Stage {
  readonly #server: Server
  readonly #proxy: TcpProxy | null
  #paused = false

  private constructor(server: Server, proxy: TcpProxy | null) {
    this.#server = server
    this.#proxy = proxy
  }

  static async open(server: Server, proxied: boolean): Promise<ServerStage> {
    const port = server.server && 'port' in server.server ? server.server.port : null
    return new ServerStage(server, proxied && port !== null ? await tcpProxy(port) : null)
  }

  /** Straight to the server. */
  get url(): string {
    const { kind, server } = this.#server
    return kind === 'redis-cluster' ? server.urls.join(',') : (server?.url ?? '')
  }

  /** Through the proxy, if there is one. */
  get proxiedUrl(): string {
    const { kind, server } = this.#server
    if (!this.#proxy) return this.url
    // Of a set, the client would go past the proxy.
    if (kind === 'mongo') return `mongodb://127.0.0.1:${this.#proxy.port}/?directConnection=true`
    return this.url.replace(`:${server && 'port' in server ? server.port : ''}`, `:${this.#proxy.port}`)
  }

  async pause(): Promise<void> {
    const { kind, server } = this.#server
    if (kind === 'redis-cluster' || kind === 'none') throw new Error(`${kind} is not paused`)
    this.#paused = true
    await server.pause()
  }

  async resume(): Promise<void> {
    const { kind, server } = this.#server
    if (kind === 'redis-cluster' || kind === 'none' || !this.#paused) return
    server.resume()
    this.#paused = false
  }

  async terminate(): Promise<void> {
    const { kind, server } = this.#server
    if (kind === 'redis')
      for (const type of ['normal', 'pubsub']) await server.command('client', 'kill', 'type', type)
    else if (kind === 'postgres') {
      await runStatement(
        server.url,
        `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'`,
      )
    } else throw new Error(`connections of ${kind} are cut at the proxy`)
  }

  async flush(): Promise<void> {
    const { kind, server } = this.#server
    if (kind === 'redis') await server.command('flushall')
    else if (kind !== 'none') throw new Error(`${kind} is not flushed`)
  }

  async commands(): Promise<number> {
    return this.#info('stats', 'total_commands_processed')
  }

  async memory(): Promise<number> {
    return this.#info('memory', 'used_memory')
  }

  async left(): Promise<{ count: number; longestMs: number }> {
    const { kind, server } = this.#server
    if (kind === 'redis') return onRedis(server.url, leftInRedis)
    if (kind === 'postgres')
      return onPostgres(server.url, async (client) => {
        const tables = await client.query<{ name: string }>(
          `select quote_ident(schemaname) || '.' || quote_ident(relname) as name from pg_stat_user_tables`,
        )
        let count = 0
        for (const { name } of tables.rows) {
          const [row] = (await client.query<{ n: string }>(`select count(*) as n from ${name}`)).rows
          count += Number(row?.n)
        }
        return { count, longestMs: 0 }
      })
    if (kind !== 'mongo') throw new Error(`nobody counts what is left on ${kind}`)
    return onMongo(server.url, async (db) => {
      let count = 0
      for (const name of ['trials', 'test', 'holdfast']) {
        const other = db.client.db(name)
        for (const each of await other.listCollections().toArray())
          count += await other.collection(each.name).countDocuments()
      }
      return { count, longestMs: 0 }
    })
  }

  async freeze(): Promise<void> {
    this.#proxy?.freeze()
  }

  async dropReplies(): Promise<void> {
    this.#proxy?.dropReplies()
  }

  async thaw(): Promise<void> {
    this.#proxy?.thaw()
  }

  async cut(): Promise<void> {
    this.#proxy?.cut()
  }

  async delay(ms: number): Promise<void> {
    this.#proxy?.delay(ms)
  }

  /** The server as it was; when whoever used it has ended. */
  async clear(): Promise<void> {
    this.#proxy?.close()
    await this.resume()
    const { kind, server } = this.#server
    if (kind !== 'redis') return
    await server.command('flushall')
    await setTimeout(20)
  }

  async #info(section: string, name: string): Promise<number> {
    const { kind, server } = this.#server
    if (kind !== 'redis') throw new Error(`${kind} does not tell`)
    const text = String(await server.command('info', section))
    return Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1])
  }
}

type RedisClient = Parameters<Parameters<typeof onRedis>[1]>[0]

async function leftInRedis(client: RedisClient): Promise<{ count: number; longestMs: number }> {
  const keys = await client.keys('*')
  const lives = await Promise.all(keys.slice(0, 2_000).map((key) => client.pttl(key)))
  const longestMs = lives.includes(-1) ? 0 : Math.max(0, ...lives)
  return { count: keys.length, longestMs }
}
