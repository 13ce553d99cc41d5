import { EventEmitter } from 'node:events'
import { within } from '../../databases/limit.ts'
import type { NodeRedis, NodeRedisCluster, NodeRedisPool, OwnNodeRedis } from '../../databases/node-redis.ts'
import { CONNECT_LIMIT_MS, type Opened, unreachable } from './opened.ts'
import { NodeRedisClient } from './node-redis.ts'
import { NodeRedisClusterClient } from './node-redis-cluster.ts'
import type { RedisAddress, RedisUrl } from './url.ts'
import { Vigil } from './vigil.ts'

/** The part of the package `redis` that is needed to open clients. */
export interface NodeRedisModule {
  createClient(options: object): OwnNodeRedis
  createCluster(options: object): NodeRedisCluster & { connect(): Promise<unknown>; destroy(): void }
}

type Make = (address: RedisAddress, options?: object) => OwnNodeRedis

const ignore = (): void => {}

export function openNodeRedis(module: NodeRedisModule, url: RedisUrl): Opened {
  if (url.kind === 'cluster') return openCluster(module, url)
  const make: Make = (address, options) =>
    module.createClient({
      socket: { ...socketOf(url), ...address, reconnectStrategy: false },
      disableOfflineQueue: true,
      ...options,
    })
  const pool = new PoolOfOne(url, make)
  return { client: new NodeRedisClient(pool, async () => pool.end()), ready: async () => undefined }
}

/** One connection, opened when it is needed: if there is none, a call tells why. It does not keep the process alive. */
class PoolOfOne extends EventEmitter implements NodeRedisPool {
  readonly isOpen = true
  readonly #url: RedisUrl
  readonly #make: Make
  readonly #vigil: Vigil = new Vigil()
  #client: OwnNodeRedis | undefined
  #connecting: Promise<OwnNodeRedis> | undefined
  #ended = false

  constructor(url: RedisUrl, make: Make) {
    super()
    this.#url = url
    this.#make = make
  }

  async execute<T>(work: (client: NodeRedis) => Promise<T>): Promise<T> {
    const client = this.#client?.isReady ? this.#client : await this.#connected()
    try {
      return await this.#vigil.over(work(client), () => destroy(client))
    } catch (error) {
      // No longer the master.
      if (error instanceof Error && error.message.startsWith('READONLY')) destroy(client)
      throw error
    }
  }

  end(): void {
    this.#ended = true
    if (this.#client) destroy(this.#client)
  }

  #connected(): Promise<OwnNodeRedis> {
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined))
    return this.#connecting
  }

  async #connect(): Promise<OwnNodeRedis> {
    const { kind, addresses, username, password, database } = this.#url
    const address = kind === 'sentinel' ? await masterOf(this.#url, this.#make) : addresses[0]
    const client = this.#make(address as RedisAddress, { username, password, database, name: 'holdfast' })
    await connect(client, this.#url)
    if (this.#ended) destroy(client)
    return (this.#client = client)
  }
}

/** As the first sentinel says that knows it. */
async function masterOf({ addresses, master, ...url }: RedisUrl, make: Make): Promise<RedisAddress> {
  let fault: unknown
  for (const address of addresses) {
    const sentinel = make(address)
    try {
      await connect(sentinel, { ...url, addresses, master })
      const asking = sentinel.sendCommand(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', master])
      const found = (await within(asking, CONNECT_LIMIT_MS, () => unreachable(url.tls))) as string[] | null
      if (found) return { host: found[0] ?? '', port: Number(found[1]) }
    } catch (error) {
      fault = error
    } finally {
      destroy(sentinel)
    }
  }
  throw new Error(`no sentinel names a master called '${master}'`, { cause: fault })
}

async function connect(client: OwnNodeRedis, { tls }: RedisUrl): Promise<void> {
  client.on('error', ignore)
  client.unref()
  try {
    // Longer than the limit for the connection itself: until there is one, version 5 cannot be stopped.
    await within(client.connect(), CONNECT_LIMIT_MS + 100, () => unreachable(tls))
  } catch (error) {
    destroy(client)
    throw explained(error, tls)
  }
}

function openCluster(module: NodeRedisModule, url: RedisUrl): Opened {
  const { addresses, username, password, tls } = url
  const cluster = module.createCluster({
    rootNodes: addresses.map((socket) => ({ socket })),
    // One that is down must not keep the others from being used.
    minimizeConnections: true,
    defaults: {
      socket: { ...socketOf(url), reconnectStrategy: (retries: number) => Math.min(50 * 2 ** retries, 1000) },
      username,
      password,
      name: 'holdfast',
      disableOfflineQueue: true,
    },
  })
  const faults: unknown[] = []
  let connecting: Promise<void> | undefined
  cluster.on('error', (error) => void (connecting && faults.push(error)))
  cluster.on('node-ready', () => {
    for (const { client } of cluster.masters) (client as OwnNodeRedis | undefined)?.unref()
  })
  const connectOnce = async (): Promise<void> => {
    try {
      await within(cluster.connect(), CONNECT_LIMIT_MS + 100, () => unreachable(tls))
    } catch (error) {
      destroy(cluster)
      // On its own, the client would only say that none of the nodes is available.
      throw explained(faults[0] ?? error, tls)
    } finally {
      faults.length = 0
    }
  }
  return {
    client: new NodeRedisClusterClient(cluster, async () => destroy(cluster)),
    ready: async () => {
      if (cluster.masters.length > 0) return
      connecting ??= connectOnce().finally(() => (connecting = undefined))
      await connecting
    },
  }
}

function explained(error: unknown, tls: boolean): Error {
  const fault = error as Error
  return fault.message === 'Connection timeout' ? unreachable(tls, fault) : fault
}

function socketOf({ tls }: RedisUrl): object {
  return { connectTimeout: CONNECT_LIMIT_MS, ...(tls ? { tls: true } : {}) }
}

function destroy(client: { destroy(): void }): void {
  try {
    client.destroy()
  } catch {
    // Not open any more.
  }
}
