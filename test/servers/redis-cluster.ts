/**
 * A real Redis Cluster for tests and benches: three masters, and a replica of each.
 *
 *     const cluster = await startRedisCluster()
 *     cluster.url                                // of one node; also urls, nodes
 *     const slot = await cluster.slotOf('key')
 *     const master = await cluster.masterOf(slot)
 *     await cluster.moveSlot(slot, other)        // to another master, with its keys
 *     const move = await cluster.beginMove(slot, other)
 *     await move.send('key')                     // the others stay: -ASK for what is not there
 *     await move.finish()
 *     await master.kill()                        // or pause(): its replica takes over
 *     await cluster.settled()                    // now it has, and all that run agree
 *     await master.start()                       // comes back as a replica
 *     await cluster.stop()
 *
 * A node is a `RedisServer`, see redis.ts. A test that only needs some keys takes `freshClusterPrefix()` from
 * shared-redis-cluster.ts: that is cheaper.
 */
import { type ClusterNode, clusterView, hasSlot } from './redis-cluster-view.ts'
import { SlotMove } from './redis-slot-move.ts'
import { busPort, type RedisOptions, type RedisServer, startRedis } from './redis.ts'
import { settled } from './settled.ts'
import { startAll } from './start-all.ts'

const MASTERS = 3
const SLOTS = 16_384

const SETTINGS = {
  'cluster-enabled': 'yes',
  'cluster-announce-ip': '127.0.0.1',
  // How long a node may be silent before its replica takes over.
  'cluster-node-timeout': 1_000,
  // A replica takes over however old its data is, and stays with its master.
  'cluster-replica-validity-factor': 0,
  'cluster-allow-replica-migration': 'no',
}

/** For clusters whose masters nobody kills: a machine with much to do is no reason for a fail-over. */
export const CALM = { 'cluster-node-timeout': 15_000 } as const

export async function startRedisCluster({ settings }: RedisOptions = {}): Promise<RedisCluster> {
  const options = { settings: { ...SETTINGS, ...settings } }
  const nodes = await startAll(Array.from({ length: 2 * MASTERS }, () => () => startRedis(options)))
  const cluster = new RedisCluster(nodes)
  try {
    await join(nodes)
    await cluster.settled()
    return cluster
  } catch (error) {
    await cluster.stop()
    throw error
  }
}

export class RedisCluster {
  /** The masters first, then the replica of each in the same order; fail-overs change the roles, not the order. */
  readonly nodes: readonly RedisServer[]
  readonly url: string
  readonly urls: readonly string[]

  constructor(nodes: readonly RedisServer[]) {
    this.nodes = nodes
    this.urls = nodes.map(({ url }) => url)
    this.url = this.urls[0] ?? ''
  }

  async slotOf(key: string): Promise<number> {
    return Number(await this.#one().command('cluster', 'keyslot', key))
  }

  /** As a node that runs sees it now. */
  async masterOf(slot: number): Promise<RedisServer> {
    const owner = (await clusterView(this.#one().url)).find((node) => hasSlot(node, slot))
    return this.#at(owner)
  }

  /** Those that a node which runs sees now. */
  async masters(): Promise<RedisServer[]> {
    const view = await clusterView(this.#one().url)
    return view.filter(({ slots }) => slots.length > 0).map((node) => this.#at(node))
  }

  async replicaOf(master: RedisServer): Promise<RedisServer> {
    const view = await clusterView(this.#one().url)
    const id = view.find(({ port }) => port === master.port)?.id
    return this.#at(view.find((node) => node.master === id))
  }

  /** Resolves when all nodes know where the slot is. */
  async moveSlot(slot: number, to: RedisServer): Promise<void> {
    const move = await this.beginMove(slot, to)
    await move.finish()
    await this.settled()
  }

  async beginMove(slot: number, to: RedisServer): Promise<SlotMove> {
    const from = await this.masterOf(slot)
    const others = (await this.masters()).filter((node) => node !== from && node !== to)
    const move = new SlotMove(slot, from, to, others)
    await move.begin()
    return move
  }

  /** Until the nodes that run have all slots among them, their replicas follow, and all agree on that. */
  async settled(): Promise<void> {
    await settled('the cluster', () => this.#missing())
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()))
  }

  async #missing(): Promise<string | undefined> {
    const running = this.nodes.filter((node) => node.running)
    const seen = new Set<string>()
    for (const node of running) {
      const view = (await clusterView(node.url)).filter(({ port }) =>
        running.some((one) => one.port === port),
      )
      const text = JSON.stringify(view.map(essence).sort())
      const slots = view.flatMap((one) => one.slots).reduce((sum, [first, last]) => sum + last - first + 1, 0)
      const well = view.every(({ flags, connected }) => connected && !flags.some((flag) => UNWELL.has(flag)))
      if (view.length < running.length || slots < SLOTS || !well) return `${node.port} sees ${text}`
      if (!/cluster_state:ok/.test(String(await node.command('cluster', 'info'))))
        return `${node.port}: not ok`
      if (/master_link_status:down/.test(String(await node.command('info', 'replication'))))
        return `${node.port} does not follow its master`
      seen.add(text)
    }
    return seen.size > 1 ? `different views: ${[...seen].join('; ')}` : undefined
  }

  #one(): RedisServer {
    const node = this.nodes.find(({ running }) => running)
    if (!node) throw new Error('no node of the cluster runs')
    return node
  }

  #at(seen: ClusterNode | undefined): RedisServer {
    const node = this.nodes.find(({ port }) => port === seen?.port)
    if (!node) throw new Error('the cluster has no such node')
    return node
  }
}

const UNWELL = new Set(['fail', 'fail?', 'handshake', 'noaddr'])

function essence({ port, master, slots, id }: ClusterNode): string {
  return [port, id, master ?? 'master', ...slots.map((range) => range.join('-'))].join(' ')
}

async function join(nodes: readonly RedisServer[]): Promise<void> {
  const masters = nodes.slice(0, MASTERS)
  await Promise.all(
    masters.map(async (node, index) => {
      const [first, next] = [index, index + 1].map((part) => Math.ceil((part * SLOTS) / MASTERS))
      await node.command('cluster', 'addslotsrange', first ?? 0, (next ?? SLOTS) - 1)
      // Else they would first have to agree on an order.
      await node.command('cluster', 'set-config-epoch', index + 1)
    }),
  )
  // Each with each: word of mouth takes seconds.
  for (const [index, node] of nodes.entries()) {
    for (const { host, port } of nodes.slice(index + 1))
      await node.command('cluster', 'meet', host, port, busPort(port))
  }
  await Promise.all(masters.map((master, index) => follow(master, nodes[MASTERS + index])))
}

/** A node cannot follow a master that it has not met yet. */
async function follow(master: RedisServer, replica: RedisServer | undefined): Promise<void> {
  const id = String(await master.command('cluster', 'myid'))
  await settled('a replica', async () => {
    await replica?.command('cluster', 'replicate', id)
    return undefined
  })
}
