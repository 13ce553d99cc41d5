import type { Random } from '../../simulation/random.ts'
import { type MongoSet, startMongoSet } from '../../servers/mongo-set.ts'
import { ServerLogs } from './server-logs.ts'
import { nodeStrike, patiently } from '../nemesis/server-strikes.ts'
import type { Strike } from '../nemesis/strike.ts'
import type { Arena } from './arena.ts'

export default async function open(folder: string): Promise<Arena> {
  const set = await startMongoSet()
  const logs = new ServerLogs(folder)
  const { url } = set
  return {
    url,
    addresses: ['mongodb', 'url'].map((driver) => ({ kind: 'mongo', driver, url })),
    ports: set.nodes.map(({ port }) => port),
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
    [1, 'secondary killed'],
    [1, 'secondary paused'],
  ] as const)
  const common = { fault: kind, target: 'set', loses: false }
  if (kind === 'primary steps down')
    return { ...common, ms: 0, begin: () => patiently(() => set.stepDown()), end: () => set.settled() }
  return {
    ...common,
    ms: random.between(500, 5000),
    ...nodeStrike({
      ...{ paused: kind.endsWith('paused'), logs },
      choose: async () => {
        const primary = await set.primary()
        return kind.startsWith('primary') ? primary : set.nodes.find((node) => node !== primary)
      },
      settled: () => set.settled(),
    }),
  }
}
