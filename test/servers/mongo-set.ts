/**
 * A real replica set of MongoDB for tests: a primary and two secondaries.
 *
 *     const set = await startMongoSet()
 *     set.url                          // for a client
 *     const primary = await set.primary()
 *     await primary.kill()             // or pause(): another one takes over
 *     await set.settled()              // now it has, and all that run agree
 *     await primary.start()            // comes back as a secondary
 *     await set.stepDown()             // resolves to the new primary
 *     await set.stop()
 *
 * Of `startMongoSet({ isolatable: true })`:
 *
 *     await set.isolate(primary)       // the others have another one; this one does not know, and takes `w: 1`
 *     await set.heal()                 // it is a secondary, and what it took alone is rolled back
 *
 * The nodes are `MongoServer`s, see mongo.ts.
 */
import { MongoBridge } from './mongo-bridge.ts'
import type { MongoOptions } from './mongo-start.ts'
import { type MongoServer, startMongo } from './mongo.ts'
import { settled } from './settled.ts'
import { startAll } from './start-all.ts'

export interface MongoSetOptions {
  /** What is special to each node. Three if not given. */
  readonly nodes?: readonly Pick<MongoOptions, 'setParameter' | 'args' | 'clockAheadMs'>[]
  /** How long the primary may be silent before another one takes over. */
  readonly electionTimeoutMs?: number
  /** All traffic goes through this process, so that nodes can be cut off from each other. */
  readonly isolatable?: boolean
}

const NAME = 'holdfast'
/** On a busy machine, less has elections that no one asked for. */
const ELECTION_TIMEOUT_MS = 2_000
const FIRST_ELECTION_TIMEOUT_MS = 500
const HEARTBEAT_MS = 200
/** How long an isolated primary takes itself for one. Longer than any test. */
const ISOLATED_PRIMARY_MS = 600_000

export async function startMongoSet(options: MongoSetOptions = {}): Promise<MongoSet> {
  const { nodes: each = [{}, {}, {}], electionTimeoutMs = ELECTION_TIMEOUT_MS, isolatable = false } = options
  const nodes = await startAll(
    each.map((node) => () => startMongo({ ...node, replicaSet: NAME, member: true })),
  )
  const isolated = new Set<number>()
  const joins = (from: number, to: number): boolean => !isolated.has(from) && !isolated.has(to)
  const bridges = new Map<MongoServer, MongoBridge>()
  try {
    if (isolatable) for (const node of nodes) bridges.set(node, await MongoBridge.open(node.port, joins))
    const set = new MongoSet(nodes, bridges, isolated, electionTimeoutMs)
    await set.initiate()
    return set
  } catch (error) {
    for (const bridge of bridges.values()) bridge.close()
    await Promise.all(nodes.map((node) => node.stop()))
    throw error
  }
}

export class MongoSet {
  readonly name: string = NAME
  /** The first primary first; elections change the roles, not the order. */
  readonly nodes: readonly MongoServer[]
  readonly #bridges: ReadonlyMap<MongoServer, MongoBridge>
  readonly #isolated: Set<number>
  readonly #electionTimeoutMs: number

  constructor(
    nodes: readonly MongoServer[],
    bridges: ReadonlyMap<MongoServer, MongoBridge>,
    isolated: Set<number>,
    electionTimeoutMs: number,
  ) {
    this.nodes = nodes
    this.#bridges = bridges
    this.#isolated = isolated
    this.#electionTimeoutMs = electionTimeoutMs
  }

  get url(): string {
    return `mongodb://${this.nodes.map((node) => this.#address(node)).join(',')}/?replicaSet=${NAME}`
  }

  /** Once: makes a set of the nodes. */
  async initiate(): Promise<void> {
    const [first] = this.nodes
    const members = this.nodes.map((node, _id) => ({ _id, host: this.#address(node) }))
    const settings = {
      electionTimeoutMillis: FIRST_ELECTION_TIMEOUT_MS,
      heartbeatIntervalMillis: HEARTBEAT_MS,
      heartbeatTimeoutSecs: 1,
    }
    await first?.command('admin', { replSetInitiate: { _id: NAME, members, settings } })
    await this.#reconfigure(await this.primary(), this.#electionTimeoutMs)
  }

  /** Waits until there is one. An isolated one does not count. */
  async primary(): Promise<MongoServer> {
    let primary: MongoServer | undefined
    await settled('the replica set', async () => {
      const agreed = await this.#agreed()
      if (typeof agreed === 'string') return agreed
      primary = agreed
      return undefined
    })
    if (!primary) throw new Error('it settled without a primary')
    return primary
  }

  /** The others, whether they run or not. */
  async secondaries(): Promise<MongoServer[]> {
    const primary = await this.primary()
    return this.nodes.filter((node) => node !== primary)
  }

  /** Until all nodes that run and are not isolated agree on a primary that can write, and follow it. */
  async settled(): Promise<void> {
    await this.primary()
  }

  /** The primary becomes a secondary, in order. Resolves to the new one. */
  async stepDown(): Promise<MongoServer> {
    const old = await this.primary()
    await old.command('admin', { replSetStepDown: 30, secondaryCatchUpPeriodSecs: 10 })
    const next = await this.primary()
    // Else it could not be elected for those 30 s.
    await old.command('admin', { replSetFreeze: 0 })
    return next
  }

  /**
   * Cuts it off from the other nodes; clients reach it as before. If it is the primary, it takes itself for one from
   * then on, and the others have elected a new one when this resolves.
   */
  async isolate(node: MongoServer): Promise<void> {
    if (this.#bridges.size === 0) throw new Error('only a set that is `isolatable` can isolate a node')
    const primary = await this.primary()
    // It would soon notice that it is alone.
    if (node === primary) await this.#reconfigure(node, ISOLATED_PRIMARY_MS)
    this.#isolated.add(node.port)
    for (const bridge of this.#bridges.values()) bridge.sweep()
    if (node !== primary) return
    await settled('the election', () => this.#elect())
    await this.#reconfigure(await this.primary(), this.#electionTimeoutMs)
  }

  /** All nodes reach each other again, and agree when this resolves. */
  async heal(): Promise<void> {
    this.#isolated.clear()
    await this.settled()
  }

  async stop(): Promise<void> {
    for (const bridge of this.#bridges.values()) bridge.close()
    await Promise.all(this.nodes.map((node) => node.stop()))
  }

  #address(node: MongoServer): string {
    return `${node.host}:${this.#bridges.get(node)?.port ?? node.port}`
  }

  #reachable(): MongoServer[] {
    return this.nodes.filter((node) => node.running && !this.#isolated.has(node.port))
  }

  /** Resolves when all nodes that can be reached know of it. */
  async #reconfigure(primary: MongoServer, electionTimeoutMillis: number): Promise<void> {
    const { config } = await primary.command('admin', { replSetGetConfig: 1 })
    const settings = { ...config.settings, electionTimeoutMillis }
    const version = config.version + 1
    await primary.command('admin', { replSetReconfig: { ...config, version, settings } })
    await this.settled()
  }

  /** The other one has the only vote: it refuses a node that has less of the log than it has itself. */
  async #elect(): Promise<string | undefined> {
    const refusals: string[] = []
    for (const node of this.#reachable()) {
      try {
        await node.command('admin', { replSetStepUp: 1 })
        return undefined
      } catch (error) {
        refusals.push(String(error))
      }
    }
    return refusals.join(', ')
  }

  /** The primary, or what is missing. */
  async #agreed(): Promise<MongoServer | string> {
    const nodes = this.#reachable()
    const hellos = await Promise.all(nodes.map((node) => node.command('admin', { hello: 1 })))
    const primaries = nodes.filter((_, index) => hellos[index]?.['isWritablePrimary'] === true)
    const [primary] = primaries
    if (!primary || primaries.length > 1) return `there are ${primaries.length} primaries`
    const version: unknown = hellos[nodes.indexOf(primary)]?.['setVersion']
    for (const [index, hello] of hellos.entries()) {
      const follows = hello['secondary'] === true || nodes[index] === primary
      const agrees = hello['primary'] === this.#address(primary) && hello['setVersion'] === version
      if (!follows || !agrees) return `${nodes[index]?.port} says ${JSON.stringify(hello)}`
    }
    return primary
  }
}
