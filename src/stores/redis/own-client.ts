import { ifInstalled, installed } from '../../databases/installed.ts'
import type {
  ChannelEars,
  Listening,
  RedisClient,
  Scanner,
  ScriptCall,
  Waited,
  WaitingCall,
} from './client.ts'
import { closedError } from './failures.ts'
import type { Opened } from './opened.ts'
import { type IoredisModule, openIoredis } from './own-ioredis.ts'
import { openNodeRedis } from './own-node-redis.ts'
import { readRedisUrl, type RedisUrl } from './url.ts'

/** A client for a URL, of whichever package is installed: opened on first use, and closed with the store. */
export class OwnClient implements RedisClient {
  readonly cluster: boolean
  readonly keyPrefix = ''
  readonly #url: RedisUrl
  readonly #late = new Set<LateListening>()
  #opening: Promise<Opened> | undefined
  #closed = false

  constructor(url: string, who: string) {
    this.#url = readRedisUrl(url, who)
    this.cluster = this.#url.kind === 'cluster'
  }

  evalSha(...call: ScriptCall): Promise<unknown> {
    return this.#with((client) => client.evalSha(...call))
  }

  eval(...call: ScriptCall): Promise<unknown> {
    return this.#with((client) => client.eval(...call))
  }

  evalShaAndWait(...call: WaitingCall): Promise<Waited> {
    return this.#with((client) => client.evalShaAndWait(...call))
  }

  scanners(): Promise<readonly Scanner[]> {
    return this.#with((client) => client.scanners())
  }

  listen(ears: ChannelEars): Listening {
    const listening = new LateListening(ears)
    this.#late.add(listening)
    // A package that cannot be loaded is the calls' to report.
    this.#open().catch(() => undefined)
    return listening
  }

  suspect(record: string): void {
    this.#opening?.then(({ client }) => client.suspect?.(record)).catch(() => undefined)
  }

  async close(): Promise<void> {
    this.#closed = true
    const opened = await this.#opening?.catch(() => undefined)
    await opened?.client.close()
  }

  async #with<T>(work: (client: RedisClient) => Promise<T>): Promise<T> {
    if (this.#closed) throw closedError()
    const { client, ready } = await this.#open()
    await ready()
    return work(client)
  }

  async #open(): Promise<Opened> {
    this.#opening ??= open(this.#url)
    try {
      const opened = await this.#opening
      for (const listening of this.#late) listening.start(opened.client)
      this.#late.clear()
      return opened
    } catch (error) {
      // A package that is missing now may be there the next time.
      this.#opening = undefined
      throw error
    }
  }
}

/** Remembers what is wanted until there is a client. */
class LateListening implements Listening {
  readonly #ears: ChannelEars
  readonly #channels = new Set<string>()
  #listening: Listening | undefined
  #closed = false

  constructor(ears: ChannelEars) {
    this.#ears = ears
  }

  start(client: RedisClient): void {
    if (this.#closed) return
    const listening = client.listen(this.#ears)
    this.#listening = listening
    for (const channel of this.#channels) listening.add(channel)
  }

  add(channel: string): void {
    if (this.#listening) this.#listening.add(channel)
    else this.#channels.add(channel)
  }

  delete(channel: string): void {
    if (this.#listening) this.#listening.delete(channel)
    else this.#channels.delete(channel)
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#listening?.close()
  }
}

async function open(url: RedisUrl): Promise<Opened> {
  const ioredis = await ifInstalled(() => import('ioredis'))
  if (ioredis) return openIoredis(ioredis as unknown as IoredisModule, url)
  const redis = await installed(
    () => import('redis'),
    'redisStore: no Redis client can be loaded; run `npm install ioredis`, or pass a client of your own',
  )
  return openNodeRedis(redis, url)
}
