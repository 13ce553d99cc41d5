import { backgroundTimers, within } from '../../databases/limit.ts'
import type { NodeRedis, OwnNodeRedis } from '../../databases/node-redis.ts'
import type { Subscriber, SubscriberEvents } from './subscriptions.ts'

/** How long the server may take to welcome, and for each answer. */
const LIMIT_MS = 2500
/** A connection that was cut without a word is found out after this long, and the limit. */
const PING_EVERY_MS = 5000

/** A copy of the user's client, for one connection that only listens. Another one is made when it is lost. */
const OVERRIDES = {
  // It has been read: what it says is in the other options.
  url: undefined,
  database: 0,
  commandOptions: undefined,
  commandsQueueMaxLength: undefined,
  disableOfflineQueue: false,
  // Its timer would keep the process alive.
  pingInterval: undefined,
  clientSideCache: undefined,
  emitInvalidate: false,
  maintNotifications: 'disabled',
}

const ignore = (): void => {}

/** One connection, to one node, until it ends. It does not keep the process alive. */
export class NodeRedisSubscriber implements Subscriber {
  readonly #redis: OwnNodeRedis
  readonly #sharded: boolean
  readonly #events: SubscriberEvents
  readonly #hear = (message: string, channel: string): void => this.#events.heard(channel, message)
  readonly #ready: Promise<void>
  #connected = false
  #ended = false
  #timer: NodeJS.Timeout | undefined

  /** `sharded` for a cluster, where the messages of a channel go to the node that has its slot. */
  constructor(client: NodeRedis, sharded: boolean, events: SubscriberEvents) {
    const socket = { ...client.options?.socket, connectTimeout: LIMIT_MS, socketTimeout: undefined }
    const redis = client.duplicate({ ...OVERRIDES, socket: { ...socket, reconnectStrategy: false } })
    this.#redis = redis
    this.#sharded = sharded
    this.#events = events
    const end = (): void => this.end()
    redis.on('error', end)
    redis.on('end', end)
    // The server ended a subscription, as it does when a slot leaves. Sent while a command waits for its answer, node-redis
    // takes it for that answer: so none of the others is to be relied on either.
    redis.on('sharded-channel-moved', end)
    redis.on('connect', () => {
      this.#connected = true
      if (this.#ended) this.#destroy()
    })
    redis.unref()
    this.#ready = this.#answered(redis.connect())
    this.#ready.then(() => this.#pingLater(), end)
  }

  async subscribe(channel: string): Promise<void> {
    await this.#ready
    const redis = this.#redis
    await this.#answered(
      this.#sharded ? redis.sSubscribe(channel, this.#hear) : redis.subscribe(channel, this.#hear),
    )
  }

  async unsubscribe(channel: string): Promise<void> {
    const redis = this.#redis
    try {
      await this.#ready
      await this.#answered(
        this.#sharded ? redis.sUnsubscribe(channel, this.#hear) : redis.unsubscribe(channel, this.#hear),
      )
    } catch {
      // Of no more use to anyone; what still arrives on it is not passed on.
    }
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#timer)
    // Before there is a connection, version 5 would go on to open it and could not close it any more.
    if (this.#connected) this.#destroy()
    this.#events.ended()
  }

  #destroy(): void {
    try {
      this.#redis.destroy()
    } catch {
      // Not open any more.
    }
  }

  #pingLater(): void {
    if (this.#ended) return
    this.#timer = setTimeout(() => {
      // A refusal is an answer, too.
      void this.#answered(this.#redis.sendCommand(['PING']))
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
