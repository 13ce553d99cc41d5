import { backgroundTimers, within } from '../../databases/limit.ts'
import type { Subscriber, SubscriberEvents } from './subscriptions.ts'

/** How long the server may take to welcome, and for each answer. */
export const WIRE_LIMIT_MS = 2500
/** A connection that was cut without a word is found out after this long, and the limit. */
const PING_EVERY_MS = 5000

const ignore = (): void => {}

/** One connection of a client, which only listens and does not keep the process alive. Nothing here is bounded. */
export interface Wire {
  connect(): Promise<unknown>
  subscribe(channel: string): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  ping(): Promise<unknown>
  destroy(): void
}

/** A connection, until it ends: because the client says so, or an answer stays out, or nobody needs it any more. */
export class WireSubscriber implements Subscriber {
  readonly #wire: Wire
  readonly #events: SubscriberEvents
  readonly #ready: Promise<void>
  #ended = false
  #timer: NodeJS.Timeout | undefined

  /** `open` makes the connection, to be told how to end this; never from inside. */
  constructor(open: (end: () => void) => Wire, events: SubscriberEvents) {
    const end = (): void => this.end()
    this.#events = events
    this.#wire = open(end)
    this.#ready = this.#answered(this.#wire.connect())
    this.#ready.then(() => this.#pingLater(), end)
  }

  async subscribe(channel: string): Promise<void> {
    await this.#ready
    await this.#answered(this.#wire.subscribe(channel))
  }

  async unsubscribe(channel: string): Promise<void> {
    try {
      await this.#ready
      await this.#answered(this.#wire.unsubscribe(channel))
    } catch {
      // Of no more use to anyone; what still arrives on it is not passed on.
    }
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#timer)
    this.#wire.destroy()
    this.#events.ended()
  }

  #pingLater(): void {
    if (this.#ended) return
    this.#timer = setTimeout(() => {
      // A refusal is an answer, too.
      void this.#answered(this.#wire.ping())
        .catch(ignore)
        .then(() => this.#pingLater())
    }, PING_EVERY_MS).unref()
  }

  async #answered(work: Promise<unknown>): Promise<void> {
    const late = (): Error => {
      this.end()
      return new Error(`no answer on the listening connection within ${WIRE_LIMIT_MS} ms`)
    }
    await within(work, WIRE_LIMIT_MS, late, undefined, backgroundTimers)
  }
}
