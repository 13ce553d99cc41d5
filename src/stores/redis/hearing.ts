import type { Ears, Hearing } from '../shared/push.ts'
import type { Listening, RedisClient } from './client.ts'
import { bucketOf, type Names } from './names.ts'

/** A bucket that nobody waits in any more stays subscribed to for a while: whoever waited often waits again. */
const LINGER_MS = 10_000

interface Bucket {
  readonly keys: Set<string>
  up: boolean
  lingering: NodeJS.Timeout | undefined
}

/** Listens for the buckets of the keys that this process waits for. */
export class BucketHearing implements Hearing {
  readonly #names: Names
  readonly #waiter: string
  readonly #listening: Listening
  readonly #buckets = new Map<string, Bucket>()

  constructor(client: RedisClient, names: Names, waiter: string, ears: Ears) {
    this.#names = names
    this.#waiter = waiter
    this.#listening = client.listen({
      heard: (_channel, message) => ears.heard(names.keyOf(message)),
      up: (channel) => {
        const bucket = this.#buckets.get(channel)
        if (!bucket) return
        bucket.up = true
        ears.up(bucket.keys)
      },
      down: (channel) => {
        const bucket = this.#buckets.get(channel)
        if (bucket) bucket.up = false
      },
    })
  }

  hears(key: string): boolean {
    return this.#buckets.get(this.#channelOf(key))?.up ?? false
  }

  add(key: string): void {
    const channel = this.#channelOf(key)
    const bucket = this.#buckets.get(channel)
    if (bucket) {
      clearTimeout(bucket.lingering)
      bucket.keys.add(key)
      return
    }
    this.#buckets.set(channel, { keys: new Set([key]), up: false, lingering: undefined })
    this.#listening.add(channel)
  }

  delete(key: string): void {
    const channel = this.#channelOf(key)
    const bucket = this.#buckets.get(channel)
    if (!bucket?.keys.delete(key) || bucket.keys.size > 0) return
    bucket.lingering = setTimeout(() => {
      this.#buckets.delete(channel)
      this.#listening.delete(channel)
    }, LINGER_MS).unref()
  }

  async stop(): Promise<void> {
    for (const { lingering } of this.#buckets.values()) clearTimeout(lingering)
    this.#buckets.clear()
    await this.#listening.close()
  }

  #channelOf(key: string): string {
    return this.#names.channel(bucketOf(key), this.#waiter)
  }
}
