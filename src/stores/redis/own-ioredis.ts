import type { Ioredis, IoredisCluster } from '../../databases/ioredis.ts'
import { within } from '../../databases/limit.ts'
import type {
  ChannelEars,
  Listening,
  RedisClient,
  Scanner,
  ScriptCall,
  Waited,
  WaitingCall,
} from './client.ts'
import { IoredisClient } from './ioredis.ts'
import { ioredisSubscriber } from './ioredis-subscriber.ts'
import { openIoredisCluster } from './own-ioredis-cluster.ts'
import { CONNECT_LIMIT_MS, type Opened, unreachable } from './opened.ts'
import { type Place, Subscriptions } from './subscriptions.ts'
import type { RedisUrl } from './url.ts'
import { Vigil } from './vigil.ts'

/** The part of the package `ioredis` that is needed to open clients. */
export interface IoredisModule {
  readonly Redis: new (options: object) => Ioredis
  readonly Cluster: new (nodes: readonly object[], options: object) => IoredisCluster & { disconnect(): void }
}

export function openIoredis({ Redis, Cluster }: IoredisModule, url: RedisUrl): Opened {
  if (url.kind === 'cluster') return openIoredisCluster(Cluster, url, ioredisOptions(url))
  const options = { ...ioredisOptions(url), ...placeOf(url), db: url.database, retryStrategy: null }
  return { client: new OnDemand(() => new Redis(options), url.tls), ready: async () => undefined }
}

/** One connection, opened when it is needed: if there is none, a call tells why. It does not keep the process alive. */
class OnDemand implements RedisClient {
  readonly cluster = false
  readonly keyPrefix = ''
  readonly #make: () => Ioredis
  readonly #tls: boolean
  /** The store has one at a time. */
  #listening: Listening | undefined
  readonly #vigil: Vigil = new Vigil()
  #redis: Ioredis | undefined
  #client: RedisClient | undefined
  #connecting: Promise<Ioredis> | undefined
  #closed = false

  constructor(make: () => Ioredis, tls: boolean) {
    this.#make = make
    this.#tls = tls
  }

  evalSha(...call: ScriptCall): Promise<unknown> {
    return this.#ask((client) => client.evalSha(...call))
  }

  eval(...call: ScriptCall): Promise<unknown> {
    return this.#ask((client) => client.eval(...call))
  }

  evalShaAndWait(...call: WaitingCall): Promise<Waited> {
    return this.#ask((client) => client.evalShaAndWait(...call))
  }

  async scanners(): Promise<readonly Scanner[]> {
    return (await this.#connected()).scanners()
  }

  listen(ears: ChannelEars): Listening {
    // One that is lost is good enough to be copied.
    const find = async (): Promise<() => Place> => {
      const redis = this.#redis ?? (await this.#connect())
      return () => ({ name: '', open: (events) => ioredisSubscriber(redis, false, events) })
    }
    return (this.#listening = new Subscriptions({ find }, ears))
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#listening?.close()
    if (this.#redis) end(this.#redis)
  }

  async #ask<T>(work: (client: RedisClient) => Promise<T>): Promise<T> {
    const client = await this.#connected()
    const redis = this.#redis
    return this.#vigil.over(work(client), () => redis && end(redis))
  }

  async #connected(): Promise<RedisClient> {
    if (this.#client && this.#redis && isAlive(this.#redis)) return this.#client
    const redis = await this.#connect()
    return (this.#client ??= new IoredisClient(redis))
  }

  #connect(): Promise<Ioredis> {
    this.#connecting ??= this.#connectOnce().finally(() => (this.#connecting = undefined))
    return this.#connecting
  }

  /** Each time anew: version 5 may take one that was cut while it connected for a ready one. */
  async #connectOnce(): Promise<Ioredis> {
    const redis = this.#make()
    // The first tells most: after a wrong password, every command is refused.
    const faults: Error[] = []
    redis.on('error', (error) => void (faults[0] ??= error as Error))
    redis.on('connect', () => redis.stream?.unref?.())
    try {
      await within(redis.connect(), CONNECT_LIMIT_MS + 100, () => unreachable(this.#tls))
      // A SELECT that failed, after which it would go on with another database.
      if (faults[0]) throw faults[0]
    } catch (error) {
      end(redis)
      // On its own, the client would only say that the connection is closed.
      const why = (faults[0] ?? error) as Error & { code?: unknown }
      throw why === faults[0] && why.code === 'ETIMEDOUT' ? unreachable(this.#tls, why) : why
    }
    if (this.#closed) end(redis)
    if (this.#redis) end(this.#redis)
    this.#client = undefined
    return (this.#redis = redis)
  }
}

function ioredisOptions({ username, password, tls }: RedisUrl): object {
  return {
    username,
    password,
    connectionName: 'holdfast',
    connectTimeout: CONNECT_LIMIT_MS,
    keepAlive: 5000,
    // Of either kind.
    family: 0,
    lazyConnect: true,
    enableOfflineQueue: false,
    // A server that is still loading says so by itself.
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    ...(tls ? { tls: {} } : {}),
  }
}

function placeOf({ kind, addresses, master, tls }: RedisUrl): object {
  if (kind === 'server') return addresses[0] as object
  return {
    sentinels: addresses,
    name: master,
    sentinelRetryStrategy: null,
    sentinelCommandTimeout: CONNECT_LIMIT_MS,
    enableTLSForSentinelMode: tls,
    ...(tls ? { sentinelTLS: {} } : {}),
    // It asks for the role, too.
    enableReadyCheck: true,
    // A connection that outlives the reign of its server is of no use.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  }
}

/** It calls itself ready for a moment after the server has hung up. */
function isAlive({ status, stream }: Ioredis): boolean {
  return status === 'ready' && (stream as { writable?: boolean } | undefined)?.writable === true
}

function end(redis: Ioredis): void {
  redis.disconnect()
  // Without the time that a server has to say good-bye.
  redis.stream?.destroy()
}
