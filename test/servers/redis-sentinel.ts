/**
 * A real Redis Sentinel set for tests: a master, two replicas, and three sentinels that watch over them.
 *
 *     const set = await startSentinel()
 *     new Redis({ sentinels: set.sentinels, name: set.name })
 *     const master = await set.master()
 *     await master.kill()              // or pause(): a replica takes over
 *     await set.settled()              // now it has, and all that run agree
 *     await master.start()             // says for a moment that it is a master, then becomes a replica
 *     await set.stop()
 *
 * The data servers and the sentinels are `RedisServer`s, see redis.ts.
 */
import { type RedisServer, startRedis } from './redis.ts'
import { settled } from './settled.ts'
import { startAll } from './start-all.ts'

const NAME = 'holdfast'
const REPLICAS = 2
const SENTINELS = 3
const QUORUM = 2

// Sentinels talk every 2 s, look every 10 s, and do nothing for 30 s after they stood still: too slow for tests.
// Not too fast: a sentinel that has not heard of a fail-over makes the new master a replica again after four times
// the period in which they talk, and the one that leads the fail-over itself looks at the new master once a second.
const HASTE = ['publish-period', 500, 'info-period', 500, 'tilt-period', 1_000]

export async function startSentinel(): Promise<RedisSentinelSet> {
  const all: RedisServer[] = []
  try {
    const master = await startRedis()
    all.push(master)
    const follower = { settings: { replicaof: `${master.host} ${master.port}` } }
    const replicas = await startAll(Array.from({ length: REPLICAS }, () => () => startRedis(follower)))
    all.push(...replicas)
    const settings = {
      'sentinel monitor': `${NAME} ${master.host} ${master.port} ${QUORUM}`,
      // How long the master may be silent before a replica takes over: longer than a busy machine holds it up.
      'sentinel down-after-milliseconds': `${NAME} 3000`,
      // How long that may take.
      'sentinel failover-timeout': `${NAME} 3000`,
      'sentinel parallel-syncs': `${NAME} ${REPLICAS}`,
    }
    const watcher = async (): Promise<RedisServer> => startRedis({ mode: 'sentinel', settings })
    const sentinels = await startAll(Array.from({ length: SENTINELS }, () => watcher))
    all.push(...sentinels)
    for (const sentinel of sentinels) await sentinel.command('sentinel', 'debug', ...HASTE)
    const set = new RedisSentinelSet([master, ...replicas], sentinels)
    await set.settled()
    return set
  } catch (error) {
    await Promise.all(all.map((server) => server.stop()))
    throw error
  }
}

export class RedisSentinelSet {
  /** What the sentinels call the master. */
  readonly name: string = NAME
  /** The first master first; fail-overs change the roles, not the order. */
  readonly nodes: readonly RedisServer[]
  readonly sentinelServers: readonly RedisServer[]

  constructor(nodes: readonly RedisServer[], sentinels: readonly RedisServer[]) {
    this.nodes = nodes
    this.sentinelServers = sentinels
  }

  /** As clients want them. */
  get sentinels(): { host: string; port: number }[] {
    return this.sentinelServers.map(({ host, port }) => ({ host, port }))
  }

  /** Whom the sentinels give out as the master now. */
  async master(): Promise<RedisServer> {
    const sentinel = this.sentinelServers.find(({ running }) => running)
    if (!sentinel) throw new Error('no sentinel runs')
    return this.#masterOf(sentinel)
  }

  /** The others, whether they run or not. */
  async replicas(): Promise<RedisServer[]> {
    const master = await this.master()
    return this.nodes.filter((node) => node !== master)
  }

  /** Until the sentinels that run agree on a master that runs, and all other nodes that run follow it. */
  async settled(): Promise<void> {
    await settled('the sentinel set', () => this.#missing())
  }

  /** One of priority 0 is never promoted. Resolves when the sentinels that run know of it. */
  async prioritize(replica: RedisServer, priority: number): Promise<void> {
    await replica.command('config', 'set', 'replica-priority', priority)
    await settled('the priority of a replica', async () => {
      for (const sentinel of this.sentinelServers.filter(({ running }) => running)) {
        const all = await seenBy(sentinel, 'replicas')
        const one = all.find(({ port }) => Number(port) === replica.port)
        if (one?.['slave-priority'] !== String(priority)) return `a sentinel sees ${JSON.stringify(one)}`
      }
      return undefined
    })
  }

  async stop(): Promise<void> {
    await Promise.all([...this.sentinelServers, ...this.nodes].map((server) => server.stop()))
  }

  async #masterOf(sentinel: RedisServer): Promise<RedisServer> {
    const address = await sentinel.command('sentinel', 'get-master-addr-by-name', NAME)
    const [, port] = address as [string, string]
    const master = this.nodes.find((node) => node.port === Number(port))
    if (!master) throw new Error(`the sentinels give out a master on port ${port}, which is none of the set`)
    return master
  }

  async #missing(): Promise<string | undefined> {
    const master = await this.master()
    if (!master.running) return `the master ${master.port} does not run`
    for (const node of this.nodes.filter(({ running }) => running)) {
      const info = String(await node.command('info', 'replication'))
      const follows =
        info.includes(`master_port:${master.port}\r\n`) && info.includes('master_link_status:up')
      if (!(node === master ? info.includes('role:master') : follows)) return `${node.port} says ${info}`
    }
    for (const sentinel of this.sentinelServers.filter(({ running }) => running)) {
      if ((await this.#masterOf(sentinel)) !== master) return 'the sentinels disagree'
      const seen = [
        ...(await seenBy(sentinel, 'master')),
        ...(await seenBy(sentinel, 'replicas')),
        ...(await seenBy(sentinel, 'sentinels')),
      ]
      for (const server of [...this.nodes, ...this.sentinelServers]) {
        if (server === sentinel || !server.running) continue
        const wanted = server === master ? 'master' : this.nodes.includes(server) ? 'slave' : 'sentinel'
        const one = seen.find(({ port }) => Number(port) === server.port)
        const linked = wanted !== 'slave' || one?.['master-link-status'] === 'ok'
        // A sentinel is said to miss the master for 5 s after that is over.
        const flags = one?.['flags']?.replace(',master_down', '')
        if (flags !== wanted || !linked) return `a sentinel sees ${JSON.stringify(one)}`
      }
    }
    return undefined
  }
}

async function seenBy(
  sentinel: RedisServer,
  what: 'master' | 'replicas' | 'sentinels',
): Promise<Record<string, string>[]> {
  const reply = await sentinel.command('sentinel', what, NAME)
  const all = (what === 'master' ? [reply] : reply) as string[][]
  return all.map((flat) => {
    const pairs: Record<string, string> = {}
    for (let index = 0; index < flat.length; index += 2) pairs[flat[index] ?? ''] = flat[index + 1] ?? ''
    return pairs
  })
}
