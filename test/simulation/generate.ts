import { DEFAULT_LEASE_MS } from './attempt.ts'
import { Random } from './random.ts'
import { STEADY_RATES } from './schedule.ts'
import type {
  AttemptOptions,
  FaultPlan,
  NetworkPlan,
  ProcessPlan,
  Schedule,
  Step,
  TaskPlan,
} from './schedule.ts'

/** Virtual milliseconds in which tasks start and faults happen. */
const HORIZON_MS = 12_000
const LEASES = [100, 150, 300, 300, 600, 1000, 1000, 3000, 10_000, 30_000]

export function generateSchedule(seed: number): Schedule {
  const random = new Random(seed, 'schedule')
  const flavour = random.weighted<Flavour>([
    [3, 'mixed'],
    [2, 'crowded'],
    [2, 'stormy'],
    [2, 'calm'],
  ])
  const processCount = random.integer(2, 5)
  const keyCount = flavour === 'crowded' ? 1 : random.integer(1, 4)
  const network = networkPlan(random, flavour)
  const processes = Array.from({ length: processCount }, () => processPlan(random, flavour, network))
  const tasks = taskPlans(random, flavour, processCount, keyCount)
  return {
    seed,
    server: {
      clockOffset: 1_700_000_000_000 + random.integer(0, 1_000_000),
      clockRate: rate(random),
      push: random.chance(0.7),
    },
    network,
    calmAt: HORIZON_MS,
    processes,
    tasks,
    faults: faultPlans(random, flavour, tasks, processCount, keyCount),
  }
}

type Flavour = 'mixed' | 'crowded' | 'stormy' | 'calm'

function rate(random: Random): number {
  return random.chance(0.3) ? 1 : random.between(...STEADY_RATES)
}

function networkPlan(random: Random, flavour: Flavour): NetworkPlan {
  const least = random.between(0.2, 5)
  const latencyMs = [least, least + random.between(0.5, 20)] as const
  // Between single faults on a quiet line everything must go well soon, and is asked to.
  const quiet = flavour === 'calm' || (flavour !== 'stormy' && random.chance(0.5))
  const noise = quiet ? 0 : flavour === 'stormy' ? 0.12 : 0.04
  const chance = (): number => (random.chance(0.6) ? random.between(0, noise) : 0)
  return {
    latencyMs,
    loss: chance(),
    double: chance(),
    late: chance(),
    reset: chance(),
    itemFault: chance(),
    pushLoss: chance() * 4,
    pushSpurious: chance() * 4,
  }
}

function processPlan(random: Random, flavour: Flavour, network: NetworkPlan): ProcessPlan {
  const wild = flavour !== 'calm' && random.chance(0.06)
  const min = random.integer(5, 50)
  // The first call opens the store too.
  const roundTrips = 4 * network.latencyMs[1]
  const clockRate = wild ? random.pick([0.6, 0.85, 1.2, 1.6]) : rate(random)
  return {
    clockOffset: random.integer(100_000, 1_000_000),
    clockRate,
    coarseTimers: random.chance(0.5),
    timerLatenessMs: random.pick([0, 0, 1, 4]),
    stallChance: flavour === 'calm' || random.chance(0.6) ? 0 : random.between(0, 0.02),
    stallMs: random.pick([5, 50, 400]),
    callTimeout: Math.ceil(roundTrips * Math.max(clockRate, 1) + random.pick([20, 100, 500, 1500])),
    poll: { min, max: random.integer(100, 400) },
  }
}

function taskPlans(random: Random, flavour: Flavour, processes: number, keys: number): TaskPlan[] {
  const crowded = flavour === 'crowded'
  const count = crowded ? random.integer(8, 24) : random.integer(4, 12)
  const spread = crowded ? HORIZON_MS / 4 : HORIZON_MS * 0.8
  // A crowd of equals, in and out within moments, is what a hold is handed on in.
  const equal: AttemptOptions | null = crowded ? { lease: random.pick(LEASES), wait: 'forever' } : null
  return Array.from({ length: count }, (_, id) => {
    const process = random.integer(0, processes - 1)
    const how = random.weighted<TaskPlan['how']>([
      [6, 'using'],
      [3, 'acquire'],
      [1, 'tryAcquire'],
    ])
    const isEqual = equal !== null && how !== 'tryAcquire' && random.chance(0.8)
    const options = isEqual ? equal : attemptOptions(random, how)
    const leaseMs = options.lease ?? DEFAULT_LEASE_MS
    return {
      id,
      process,
      // Several at the same moment are the interesting ones.
      at: random.chance(0.3) ? 100 * random.integer(0, 5) : Math.round(random.between(0, spread)),
      how,
      key: random.integer(0, keys - 1),
      options,
      ...(random.chance(0.12) ? { giveUpAfter: random.integer(0, 1500) } : {}),
      heedsLoss: random.chance(0.6),
      body:
        isEqual && random.chance(0.7)
          ? [{ do: 'work', ms: random.pick([0, 1, 5, 20]) }]
          : body(random, leaseMs, how === 'using' ? 2 : 0, keys),
    }
  })
}

function attemptOptions(random: Random, how: TaskPlan['how']): AttemptOptions {
  const lease = random.pick(LEASES)
  const renew = !random.chance(0.12)
  return {
    lease,
    ...(how === 'tryAcquire'
      ? {}
      : { wait: random.pick([0, 50, 400, 2000, 5000, 10_000, 10_000, 'forever']) }),
    ...(renew ? {} : { renew }),
    ...(renew && random.chance(0.1) ? { rotateToken: Math.round(lease * random.between(0.1, 0.5)) } : {}),
    ...(random.chance(0.08) ? { atLeast: Math.round(lease * random.between(0.1, 1)) } : {}),
    ...(how === 'using' && random.chance(0.15) ? { onLost: 'ignore' } : {}),
  }
}

function body(random: Random, leaseMs: number, depth: number, keys: number): Step[] {
  const steps: Step[] = []
  const count = random.weighted([
    [1, 0],
    [5, 1],
    [2, 2],
    [1, 3],
  ])
  for (let i = 0; i < count; i++) steps.push(step(random, leaseMs, depth, keys))
  return steps
}

function step(random: Random, leaseMs: number, depth: number, keys: number): Step {
  const short = Math.min(leaseMs, 1500)
  const long = Math.min(leaseMs * 2, 8000)
  const kind = random.weighted([
    [10, 'work'],
    [1, 'extend'],
    [depth > 0 ? 2 : 0, 'nest'],
    [depth > 0 ? 1 : 0, 'siblings'],
    [depth > 0 ? 0.5 : 0, 'itself'],
    [0.7, 'other'],
    [0.7, 'throw'],
  ] as const)
  switch (kind) {
    case 'work':
      // Shorter than the lease, or longer: then it needs renewals, or is lost.
      return {
        do: 'work',
        ms: Math.round(random.pick([0, 1, 10, short * 0.3, short * 0.9, short * 2.5, long])),
      }
    case 'extend':
      return random.chance(0.5)
        ? { do: 'extend' }
        : { do: 'extend', lease: random.pick([100, 500, 2000, 5000]) }
    case 'nest':
      return {
        do: 'nest',
        options: { lease: leaseMs, wait: 3000 },
        body: body(random, leaseMs, depth - 1, keys),
      }
    case 'siblings':
      return { do: 'siblings', count: random.integer(2, 3), ms: Math.round(short * random.between(0.1, 0.8)) }
    case 'itself':
      return { do: 'nest', options: { reentrant: false, wait: 1000 }, body: [] }
    case 'other': {
      const options = { lease: leaseMs, wait: 500 }
      return { do: 'nest', key: random.integer(0, keys - 1), options, body: [{ do: 'work', ms: 20 }] }
    }
    case 'throw':
      return { do: 'throw' }
  }
}

function faultPlans(
  random: Random,
  flavour: Flavour,
  tasks: readonly TaskPlan[],
  processes: number,
  keys: number,
): FaultPlan[] {
  const most = { stormy: 8, mixed: 4, crowded: 3, calm: 2 }[flavour]
  const count = random.integer(0, most)
  return Array.from({ length: count }, () => faultPlan(random, random.pick(tasks), processes, keys))
}

/** Half of the faults are aimed at a task: its process, its time, about as long as its lease. */
function faultPlan(random: Random, task: TaskPlan, processes: number, keys: number): FaultPlan {
  const aimed = random.chance(0.5)
  const latest = HORIZON_MS * 0.9
  const at = Math.round(
    aimed ? Math.min(task.at + random.between(0, 1500), latest) : random.between(0, latest),
  )
  const process = aimed ? task.process : random.integer(0, processes - 1)
  const key = aimed ? task.key : random.integer(0, keys - 1)
  const length =
    aimed && random.chance(0.5) ? (task.options.lease ?? 0) : random.pick([20, 120, 500, 1500, 4000])
  // Every fault that lasts is over by the time of calm.
  const ms = Math.min(Math.round(length * random.between(0.5, 1.5)) + 10, HORIZON_MS - at)
  return random.weighted<FaultPlan>([
    [4, { at, do: 'pause', process, ms }],
    [2, { at, do: 'crash', process }],
    [1.5, { at, do: 'close', process }],
    [4, { at, do: 'cut', process, ms, way: random.pick(['there', 'back', 'both']) }],
    [2, { at, do: 'freeze', ms }],
    [1.5, { at, do: 'slow', ms, factor: random.pick([3, 10, 40]) }],
    [1.5, { at, do: 'down', ms }],
    [1.5, { at, do: 'restart', silent: random.chance(0.4) }],
    [1, { at, do: 'forget' }],
    [1.5, { at, do: 'evict', process, key }],
  ])
}
