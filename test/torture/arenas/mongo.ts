import type { Random } from '../../simulation/random.ts'
import type { MongoServer } from '../../servers/mongo.ts'
import { type MongoSet, startMongoSet } from '../../servers/mongo-set.ts'
import { ServerLogs } from './server-logs.ts'
import { nodeStrike, patiently } from '../nemesis/server-strikes.ts'
import type { Strike } from '../nemesis/strike.ts'
import type { Arena } from './arena.ts'

/** More than a busy machine takes to answer: where one of three is cut off, the other two must go on agreeing. */
const ELECTION_TIMEOUT_MS = 3000

export default async function open(folder: string): Promise<Arena> {
  const set = await startMongoSet({ isolatable: true, electionTimeoutMs: ELECTION_TIMEOUT_MS })
  const logs = new ServerLogs(folder)
  const { url } = set
  return {
    url,
    addresses: ['mongodb', 'url'].map((driver) => ({ kind: 'mongo', driver, url })),
    // Those of the bridges before the nodes: these are the addresses that all know.
    ports: [...url.matchAll(/:(\d+)(?=[,/])/g)].map(([, port]) => Number(port)),
    strike: (random) => strike(random, set, logs),
    keepLogs: () => logs.keep(set.nodes),
    stop: () => set.stop(),
  }
}

/** Writes are with the majority, so that an election forgets nothing. */
function strike(random: Random, set: MongoSet, logs: ServerLogs): Strike {
  const kind = random.weighted([
    [3, 'primary killed'],
    [3, 'primary paused'],
    [2, 'primary steps down'],
    [3, 'primary isolated'],
    [1, 'secondary killed'],
    [1, 'secondary paused'],
    [1, 'secondary isolated'],
  ] as const)
  const common = { fault: kind, target: 'set', loses: false }
  if (kind === 'primary steps down')
    return { ...common, ms: 0, begin: () => patiently(() => set.stepDown()), end: () => set.settled() }
  const choose = async (): Promise<MongoServer | undefined> => {
    const primary = await set.primary()
    return kind.startsWith('primary') ? primary : set.nodes.find((node) => node !== primary)
  }
  const ms = random.between(500, 5000)
  if (kind.endsWith('isolated')) {
    const begin = (): Promise<void> => patiently(async () => isolate(set, await choose()))
    return { ...common, ms, begin, end: () => patiently(() => set.heal()) }
  }
  const settled = (): Promise<void> => set.settled()
  return { ...common, ms, ...nodeStrike({ paused: kind.endsWith('paused'), logs, choose, settled }) }
}

/** From the other nodes, not from the workers: a primary takes itself for one until it is healed. */
async function isolate(set: MongoSet, node: MongoServer | undefined): Promise<void> {
  try {
    if (node) await set.isolate(node)
  } catch (error) {
    // Half done, it has no primary and elects none.
    await set.heal()
    throw error
  }
}
