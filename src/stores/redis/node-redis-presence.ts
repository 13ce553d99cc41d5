import type { NodeRedisConnectable } from '../../databases/node-redis.ts'

/**
 * Looks after a client that is somebody else's to connect and to close. While it does, an 'error' of the client does
 * not end the process.
 */
export class Presence {
  readonly #client: NodeRedisConnectable
  readonly #note = (error: unknown): void => void (this.#fault = error)
  #fault: unknown
  #wasOpen = false

  constructor(client: NodeRedisConnectable) {
    this.#client = client
    client.on('error', this.#note)
  }

  /** Throws if nobody is connecting the client: it would refuse in words that do not help. */
  check(): void {
    if (this.#client.isOpen) this.#wasOpen = true
    else throw new Error(this.#absence(), this.#fault === undefined ? undefined : { cause: this.#fault })
  }

  end(): void {
    const client = this.#client
    this.#fault = undefined
    // What node-redis gives out inherits from the object that emits. To remove the last of all listeners would part
    // the two, and whoever listens later would hear nothing.
    if (client.eventNames().length > 1 || client.listenerCount('error') > 1)
      client.removeListener('error', this.#note)
  }

  #absence(): string {
    return this.#wasOpen
      ? 'the client of node-redis that was given to the store was closed, or gave up to reconnect; give one that stays open'
      : 'the client of node-redis that was given to the store is not connected; call `await client.connect()` first'
  }
}
