import type { Ioredis } from '../../databases/ioredis.ts'
import { backgroundTimers, within } from '../../databases/limit.ts'
import type { Subscriber, SubscriberEvents } from './subscriptions.ts'

/** How long the server may take to welcome, and for each answer. */
const LIMIT_MS = 2500
/** A connection that was cut without a word is found out after this long, and the limit. */
const PING_EVERY_MS = 5000

/** A copy of the user's client, for one connection that only listens. Another one is made when it is lost. */
const OVERRIDES = {
  keyPrefix: '',
  db: 0,
  lazyConnect: true,
  enableOfflineQueue: true,
  enableAutoPipelining: false,
  maxRetriesPerRequest: null,
  commandTimeout: undefined,
  socketTimeout: undefined,
  reconnectOnError: null,
  retryStrategy: null,
  sentinelRetryStrategy: null,
  // It would keep connections to the sentinels, which keep the process alive.
  failoverDetector: false,
}

const ignore = (): void => {}

/** One connection, to one node, until it ends. It does not keep the process alive. */
export class IoredisSubscriber implements Subscriber {
  readonly #redis: Ioredis
  readonly #sharded: boolean
  readonly #events: SubscriberEvents
  readonly #ready: Promise<void>
  #ended = false
  #timer: NodeJS.Timeout | undefined

  /** `sharded` for a cluster, where the messages of a channel go to the node that has its slot. */
  constructor(client: Ioredis, sharded: boolean, events: SubscriberEvents) {
    const redis = client.duplicate(OVERRIDES)
    this.#redis = redis
    this.#sharded = sharded
    this.#events = events
    const end = (): void => this.end()
    // Also how ioredis 5 takes it that the server ends a subscription, as it does when a slot leaves.
    redis.on('error', end)
    // How ioredis 6 takes it, and how 5 takes a -MOVED: without saying of which channel.
    redis.on('moved', end)
    redis.on('end', end)
    redis.on('connect', () => redis.stream?.unref?.())
    redis.on(sharded ? 'smessage' : 'message', (channel, message) => {
      events.heard(String(channel), String(message))
    })
    this.#ready = this.#answered(redis.connect())
    this.#ready.then(() => this.#pingLater(), end)
  }

  async subscribe(channel: string): Promise<void> {
    await this.#ready
    await this.#answered(this.#sharded ? this.#redis.ssubscribe(channel) : this.#redis.subscribe(channel))
  }

  async unsubscribe(channel: string): Promise<void> {
    const redis = this.#redis
    try {
      await this.#ready
      await this.#answered(this.#sharded ? redis.sunsubscribe(channel) : redis.unsubscribe(channel))
    } catch {
      // Of no more use to anyone; what still arrives on it is not passed on.
    }
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#timer)
    // It would start a timer in vain.
    if (this.#redis.status !== 'end') this.#redis.disconnect()
    // Without the time that a server has to say good-bye.
    this.#redis.stream?.destroy()
    this.#events.ended()
  }

  #pingLater(): void {
    if (this.#ended) return
    this.#timer = setTimeout(() => {
      // A refusal is an answer, too.
      void this.#answered(this.#redis.ping())
        .catch(ignore)
        .then(() => this.#pingLater())
    }, PING_EVERY_MS).unref()
  }

  async #answered(work: Promise<unknown>): Promise<void> {
    const late = (): Error => {
      this.end()
      return new Error(`no answer on the listening connection within ${LIMIT_MS} ms`)
    }
    await within(work, LIMIT_MS, late, undefined, backgroundTimers)
  }
}
