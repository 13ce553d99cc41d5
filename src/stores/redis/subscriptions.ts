import type { ChannelEars, Listening } from './client.ts'

const MIN_PAUSE_MS = 50
const MAX_PAUSE_MS = 1000

/** Where channels are. */
export interface Whereabouts {
  /** `afresh` after a failure: what was known may be old. Rejects if it cannot be told now. */
  find(afresh: boolean): Promise<(channel: string) => Place | undefined>
}

export interface Place {
  readonly name: string
  open(events: SubscriberEvents): Subscriber
}

/** One connection, until it ends. */
export interface Subscriber {
  /** Resolves when the server has confirmed it, and rejects if it refuses. */
  subscribe(channel: string): Promise<void>
  /** Never rejects. */
  unsubscribe(channel: string): Promise<void>
  end(): void
}

export interface SubscriberEvents {
  heard(channel: string, message: string): void
  /** Once, and never from inside `open`. Whatever was subscribed to is not any more. */
  ended(): void
}

interface Wish {
  readonly channel: string
  subscriber: Subscriber | undefined
  up: boolean
}

/** Keeps channels subscribed to, with one connection for each place that has some, and pauses that grow while it cannot. */
export class Subscriptions implements Listening {
  readonly #whereabouts: Whereabouts
  readonly #ears: ChannelEars
  readonly #wishes = new Map<string, Wish>()
  readonly #subscribers = new Map<string, Subscriber>()
  #closed = false
  #placing = false
  #afresh = false
  #pauseMs = MIN_PAUSE_MS
  #timer: NodeJS.Timeout | undefined

  constructor(whereabouts: Whereabouts, ears: ChannelEars) {
    this.#whereabouts = whereabouts
    this.#ears = ears
  }

  add(channel: string): void {
    if (this.#closed || this.#wishes.has(channel)) return
    this.#wishes.set(channel, { channel, subscriber: undefined, up: false })
    if (!this.#timer) void this.#place()
  }

  delete(channel: string): void {
    const wish = this.#wishes.get(channel)
    this.#wishes.delete(channel)
    void wish?.subscriber?.unsubscribe(channel)
  }

  /** As if all connections were lost. */
  reopen(): void {
    for (const subscriber of [...this.#subscribers.values()]) subscriber.end()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#wishes.clear()
    clearTimeout(this.#timer)
    this.reopen()
  }

  /** All that have no subscriber. */
  async #place(): Promise<void> {
    if (this.#placing) return
    this.#placing = true
    const afresh = this.#afresh
    this.#afresh = false
    let lost = false
    try {
      const placeOf = await this.#whereabouts.find(afresh)
      for (const wish of this.#wishes.values()) {
        if (wish.subscriber) continue
        const place = placeOf(wish.channel)
        if (place) void this.#subscribe(wish, this.#subscriberAt(place))
        else lost = true
      }
    } catch {
      // Push is a help, never a condition. The steps of the store report what is wrong.
      lost = true
    }
    this.#placing = false
    if (lost) this.#placeLater()
  }

  #placeLater(): void {
    this.#afresh = true
    if (this.#closed || this.#timer || this.#wishes.size === 0) return
    const pauseMs = this.#pauseMs * (0.5 + Math.random())
    this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_PAUSE_MS)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#place()
    }, pauseMs).unref()
  }

  async #subscribe(wish: Wish, subscriber: Subscriber): Promise<void> {
    wish.subscriber = subscriber
    try {
      await subscriber.subscribe(wish.channel)
    } catch (error) {
      if (wish.subscriber !== subscriber) return
      wish.subscriber = undefined
      // A server that does not know SSUBSCRIBE never will: those who wait are served by polling.
      if (/unknown command/i.test(String(error))) return this.close()
      this.#placeLater()
      return
    }
    if (wish.subscriber !== subscriber || this.#wishes.get(wish.channel) !== wish) return
    this.#pauseMs = MIN_PAUSE_MS
    wish.up = true
    this.#ears.up(wish.channel)
  }

  #subscriberAt(place: Place): Subscriber {
    const known = this.#subscribers.get(place.name)
    if (known) return known
    const subscriber = place.open({
      heard: (channel, message) => {
        if (this.#wishes.has(channel)) this.#ears.heard(channel, message)
      },
      ended: () => this.#forget(place.name, subscriber),
    })
    this.#subscribers.set(place.name, subscriber)
    return subscriber
  }

  #forget(name: string, subscriber: Subscriber): void {
    this.#subscribers.delete(name)
    for (const wish of this.#wishes.values()) {
      if (wish.subscriber !== subscriber) continue
      wish.subscriber = undefined
      if (wish.up) this.#ears.down(wish.channel)
      wish.up = false
    }
    this.#placeLater()
  }
}
