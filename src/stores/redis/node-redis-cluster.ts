import { setTimeout as pause } from 'node:timers/promises'
import { within } from '../../databases/limit.ts'
import {
  keyPrefixOf,
  type NodeRedis,
  type NodeRedisCluster,
  type NodeRedisNode,
  rediscover,
} from '../../databases/node-redis.ts'
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
import { evaluation, PLAIN, scanned, scanning, sendAndWait } from './node-redis.ts'
import { Presence } from './node-redis-presence.ts'
import { nodeRedisSubscriber } from './node-redis-subscriber.ts'
import { redirected } from './redirection.ts'
import { slotOf } from './slot.ts'
import { type Place, Subscriptions } from './subscriptions.ts'

const LIMIT_MS = 2500
const REDISCOVERY_PAUSE_MS = 500

/** What `createCluster` of node-redis gave, to the user or to us. */
export class NodeRedisClusterClient implements RedisClient {
  readonly cluster = true
  readonly keyPrefix: string
  readonly #cluster: NodeRedisCluster
  readonly #end: (() => Promise<void>) | undefined
  readonly #presence: Presence
  /** The store has one at a time. */
  #listening: Listening | undefined
  #rediscovering: Promise<void> | undefined
  #rediscoveredAt = -Infinity
  readonly #closing = new AbortController()

  /** `end` closes the client if it is ours. */
  constructor(cluster: NodeRedisCluster, end?: () => Promise<void>) {
    this.#cluster = cluster
    this.#end = end
    this.#presence = new Presence(cluster)
    this.keyPrefix = keyPrefixOf(cluster)
  }

  evalSha(...call: ScriptCall): Promise<unknown> {
    return this.#send(evaluation('EVALSHA', call, this.keyPrefix), call[3])
  }

  eval(...call: ScriptCall): Promise<unknown> {
    return this.#send(evaluation('EVAL', call, this.keyPrefix), call[3])
  }

  /** On the node that has the slot, since redirections would part the two commands. */
  async evalShaAndWait(
    ...[sha, keys, args, replicas, limitMs, deadline = new Deadline()]: WaitingCall
  ): Promise<Waited> {
    const command = evaluation('EVALSHA', [sha, keys, args], this.keyPrefix)
    const key = command[3] ?? ''
    let asked: NodeRedisNode | undefined
    return redirected(
      deadline,
      async () => {
        const client = await this.#clientOf(asked ?? this.#masterOf(key))
        deadline.check()
        // The next command only, and it is the next.
        if (asked) void client.sendCommand(['ASKING']).catch(() => undefined)
        return sendAndWait(client, command, replicas, limitMs)
      },
      async (kind, address) => {
        if (kind !== 'MOVED' && kind !== 'ASK') return
        asked = kind === 'ASK' ? this.#cluster.nodeByAddress.get(address) : undefined
        if (!asked) await this.#rediscover()
      },
    )
  }

  async scanners(): Promise<readonly Scanner[]> {
    this.#presence.check()
    const masters = [...this.#cluster.masters].sort((a, b) => (a.address < b.address ? -1 : 1))
    return masters.map((node) => ({
      name: node.address,
      scan: async (...page) => {
        const client = await this.#clientOf(node)
        return scanned(await client.sendCommand(scanning(...page), PLAIN))
      },
    }))
  }

  listen(ears: ChannelEars): Listening {
    return (this.#listening = new Subscriptions({ find: (afresh) => this.#find(afresh) }, ears))
  }

  suspect(record: string): void {
    const { client } = this.#cluster.slots[slotOf(this.keyPrefix + record)]?.master ?? {}
    this.#rediscover(client).catch(() => undefined)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    void this.#listening?.close()
    // Whoever closes the client next would find it connected again when this is done, and for good; as when a node
    // answers after the limit of this.
    await this.#rediscovering?.catch(() => undefined)
    await this.#end?.()
    this.#presence.end()
  }

  async #send(command: string[], deadline: Deadline = new Deadline()): Promise<unknown> {
    const key = command[3] ?? ''
    return redirected(deadline, async () => {
      const master = this.#masterOf(key)
      if (!master.client?.isReady) {
        // As the client does, for as long as it takes.
        await this.#clientOf(master)
        deadline.check()
      }
      return this.#cluster.sendCommand(key, false, [...command], PLAIN)
    })
  }

  #masterOf(key: string): NodeRedisNode {
    this.#presence.check()
    const slot = slotOf(key)
    const master = this.#cluster.slots[slot]?.master
    if (!master) throw new Error(`the cluster client knows no node for slot ${slot}, or is still connecting`)
    // Version 5 keeps to a master that is gone for as long as nobody sends it elsewhere, and 6 for seconds.
    if (master.client?.isReady === false) void this.#rediscover().catch(() => undefined)
    return master
  }

  #clientOf(node: NodeRedisNode): Promise<NodeRedis> {
    return node.client?.isReady ? Promise.resolve(node.client) : this.#cluster.nodeClient(node as never)
  }

  async #find(afresh: boolean): Promise<(channel: string) => Place | undefined> {
    this.#presence.check()
    if (afresh) await this.#rediscover()
    // With `minimizeConnections` they are opened when they are needed.
    const unused = this.#cluster.masters.filter((node) => !node.client)
    await Promise.allSettled(unused.map((node) => withinLimit(this.#clientOf(node))))
    return (channel) => {
      const { address: name, client } = this.#cluster.slots[slotOf(channel)]?.master ?? {}
      if (name === undefined || !client) return undefined
      return { name, open: (events) => nodeRedisSubscriber(client, true, events) }
    }
  }

  /** `silent`: not to be asked. The client would wait for its answer for ever, and ask nobody else meanwhile. */
  #rediscover(silent?: NodeRedis): Promise<void> {
    this.#rediscovering ??= this.#rediscoverOnce(silent).finally(() => (this.#rediscovering = undefined))
    return this.#rediscovering
  }

  async #rediscoverOnce(silent: NodeRedis | undefined): Promise<void> {
    const { signal } = this.#closing
    const sooner = this.#rediscoveredAt + REDISCOVERY_PAUSE_MS - performance.now()
    if (sooner > 0) await pause(sooner, undefined, { ref: false, signal }).catch(() => undefined)
    if (signal.aborted) return
    this.#rediscoveredAt = performance.now()
    const nodes = [...this.#cluster.nodeByAddress.values()].flatMap(({ client }) => client ?? [])
    const ready = nodes.filter((client) => client.isReady && client !== silent)
    const client = ready[Math.floor(Math.random() * ready.length)] ?? nodes[0]
    if (client) await withinLimit(rediscover(this.#cluster, client))
  }
}

function withinLimit<T>(work: Promise<T>): Promise<T> {
  return within(work, LIMIT_MS, () => new Error(`no answer of the cluster within ${LIMIT_MS} ms`))
}
