import type { RedisServer } from './redis.ts'

/**
 * A slot of a cluster on its way to another master, as `redis-cli --cluster reshard` does it. Until `finish`, the old
 * master serves the keys that it has and answers -ASK for the others; -TRYAGAIN for several of which it has some.
 */
export class SlotMove {
  readonly slot: number
  readonly from: RedisServer
  readonly to: RedisServer
  readonly #told: readonly RedisServer[]

  /** `others` are the masters that are told in the end, besides the two. */
  constructor(slot: number, from: RedisServer, to: RedisServer, others: readonly RedisServer[]) {
    this.slot = slot
    this.from = from
    this.to = to
    // The new one first: else no one would have the slot for a moment.
    this.#told = [to, from, ...others]
  }

  async begin(): Promise<void> {
    const { slot, from, to } = this
    await to.command('cluster', 'setslot', slot, 'importing', await idOf(from))
    await from.command('cluster', 'setslot', slot, 'migrating', await idOf(to))
  }

  /** Sends these keys of the slot over, with the rest of their time to live. */
  async send(...keys: readonly string[]): Promise<void> {
    const { host, port } = this.to
    await this.from.command('migrate', host, port, '', 0, 5_000, 'keys', ...keys)
  }

  /** Sends what is left, and tells the masters whose slot it is now. */
  async finish(): Promise<void> {
    for (;;) {
      const keys = (await this.from.command('cluster', 'getkeysinslot', this.slot, 100)) as string[]
      if (keys.length === 0) break
      await this.send(...keys)
    }
    const owner = await idOf(this.to)
    for (const master of this.#told) await master.command('cluster', 'setslot', this.slot, 'node', owner)
  }
}

async function idOf(node: RedisServer): Promise<string> {
  return String(await node.command('cluster', 'myid'))
}
