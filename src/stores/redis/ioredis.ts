import type { Ioredis } from '../../databases/ioredis.ts'
import type {
  ChannelEars,
  Listening,
  RedisClient,
  Scanner,
  ScriptCall,
  Waited,
  WaitingCall,
} from './client.ts'
import { IoredisCalls } from './ioredis-calls.ts'
import { scannerOf } from './ioredis-scanner.ts'
import { ioredisSubscriber } from './ioredis-subscriber.ts'
import { type Place, Subscriptions } from './subscriptions.ts'

/** A `Redis` of ioredis, the user's or our own: one server, or the master that Sentinel names. */
export class IoredisClient implements RedisClient {
  readonly cluster = false
  readonly keyPrefix: string
  readonly #redis: Ioredis
  readonly #end: (() => Promise<void>) | undefined
  readonly #sentinel: boolean
  readonly #calls: IoredisCalls
  /** The store has one at a time. */
  #listening: Listening | undefined

  /** `end` closes the client if it is ours. */
  constructor(redis: Ioredis, end?: () => Promise<void>) {
    this.#redis = redis
    this.#end = end
    this.#calls = new IoredisCalls(redis)
    this.keyPrefix = redis.options.keyPrefix ?? ''
    this.#sentinel = Boolean(redis.options.sentinels)
  }

  evalSha(...call: ScriptCall): Promise<unknown> {
    return this.#byMaster(this.#calls.evalSha(...call))
  }

  eval(...call: ScriptCall): Promise<unknown> {
    return this.#byMaster(this.#calls.eval(...call))
  }

  evalShaAndWait(...call: WaitingCall): Promise<Waited> {
    return this.#byMaster(this.#calls.evalShaAndWait(...call))
  }

  async scanners(): Promise<readonly Scanner[]> {
    await this.#calls.usable()
    return [scannerOf('', this.#redis)]
  }

  listen(ears: ChannelEars): Listening {
    const place: Place = { name: '', open: (events) => ioredisSubscriber(this.#redis, false, events) }
    const find = async (): Promise<() => Place | undefined> => {
      // Of a client that its owner has closed, no copy is made.
      return () => (this.#redis.status === 'end' ? undefined : place)
    }
    return (this.#listening = new Subscriptions({ find }, ears))
  }

  async close(): Promise<void> {
    await this.#listening?.close()
    await this.#end?.()
  }

  /** A master that follows another keeps its connections, unless the sentinels told it to. They know the next one. */
  #byMaster<T>(reply: Promise<T>): Promise<T> {
    if (!this.#sentinel) return reply
    return reply.catch((error: unknown) => {
      const refused = error instanceof Error && error.message.startsWith('READONLY')
      if (refused && this.#redis.status === 'ready') this.#redis.disconnect(true)
      throw error
    })
  }
}
