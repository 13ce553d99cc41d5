import { setTimeout } from 'node:timers/promises'
import type { Ioredis, IoredisCluster } from '../../databases/ioredis.ts'
import type {
  ChannelEars,
  Listening,
  RedisClient,
  Scanner,
  ScriptCall,
  Waited,
  WaitingCall,
} from './client.ts'
import { Deadline } from './deadline.ts'
import { IoredisCalls } from './ioredis-calls.ts'
import { scannerOf } from './ioredis-scanner.ts'
import { ioredisSubscriber } from './ioredis-subscriber.ts'
import { redirected } from './redirection.ts'
import { slotOf } from './slot.ts'
import { type Place, Subscriptions } from './subscriptions.ts'

/** As ioredis itself pauses before it tries again. */
const PAUSE_MS = 100

/** A `Cluster` of ioredis, the user's or our own. */
export class IoredisClusterClient implements RedisClient {
  readonly cluster = true
  readonly keyPrefix: string
  readonly #cluster: IoredisCluster
  readonly #end: (() => Promise<void>) | undefined
  readonly #calls: IoredisCalls
  /** The store has one at a time. */
  #listening: Listening | undefined

  /** `end` closes the client if it is ours. */
  constructor(cluster: IoredisCluster, end?: () => Promise<void>) {
    this.#cluster = cluster
    this.#end = end
    this.#calls = new IoredisCalls(cluster)
    for (const node of cluster.nodes('all')) heedAsking(node)
    cluster.on('+node', heedAsking)
    this.keyPrefix = cluster.options.keyPrefix ?? ''
  }

  evalSha(...call: ScriptCall): Promise<unknown> {
    return this.#calls.evalSha(...call)
  }

  eval(...call: ScriptCall): Promise<unknown> {
    return this.#calls.eval(...call)
  }

  evalShaAndWait(
    ...[sha, keys, args, replicas, limitMs, deadline = new Deadline()]: WaitingCall
  ): Promise<Waited> {
    const call = [sha, keys, args, replicas, limitMs, deadline] as const
    let asked: Ioredis | undefined
    // ioredis itself follows only if all of a pipeline is sent elsewhere, and a WAIT never is.
    return redirected(
      deadline,
      () => (asked ? this.#calls.evalShaAndWaitAt(asked, ...call) : this.#calls.evalShaAndWait(...call)),
      async (kind, address) => {
        asked =
          kind === 'ASK' ? this.#cluster.nodes('all').find((one) => addressOf(one) === address) : undefined
        if (!asked) await Promise.allSettled([this.#refresh(), setTimeout(PAUSE_MS)])
      },
    )
  }

  async scanners(): Promise<readonly Scanner[]> {
    // Before, it knows the nodes that it was given, and takes them all for masters.
    await this.#calls.connected()
    const masters = this.#cluster.nodes('master').map((node) => scannerOf(addressOf(node), node))
    return masters.sort((one, other) => (one.name < other.name ? -1 : 1))
  }

  listen(ears: ChannelEars): Listening {
    const find = async (afresh: boolean): Promise<(channel: string) => Place | undefined> => {
      if (afresh) await this.#refresh()
      return (channel) => this.#placeOf(channel)
    }
    return (this.#listening = new Subscriptions({ find }, ears))
  }

  suspect(): void {
    this.#refresh().catch(() => undefined)
  }

  async close(): Promise<void> {
    await this.#listening?.close()
    this.#cluster.removeListener('+node', heedAsking)
    await this.#end?.()
  }

  #placeOf(channel: string): Place | undefined {
    const name = this.#cluster.slots[slotOf(channel)]?.[0]
    const node = this.#cluster.nodes('all').find((one) => addressOf(one) === name)
    if (name === undefined || !node) return undefined
    return { name, open: (events) => ioredisSubscriber(node, true, events) }
  }

  #refresh(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#cluster.refreshSlotsCache((error) => (error ? reject(error) : resolve()))
    })
  }
}

/**
 * Where a slot is on its way, ioredis sends ASKING before a command and drops the promise. If the connection ends there,
 * its rejection is nobody's, and ends the process. The command itself is rejected, too.
 */
function heedAsking(given: unknown): void {
  const node = given as Ioredis & { asking?: (...args: unknown[]) => Promise<unknown> }
  const { asking } = node
  // Several stores may share a client.
  if (!asking || Object.hasOwn(node, 'asking')) return
  node.asking = (...args) => {
    const sent = asking.apply(node, args)
    sent.catch(() => undefined)
    return sent
  }
}

function addressOf({ options: { host, port } }: Ioredis): string {
  return `${host}:${port}`
}
