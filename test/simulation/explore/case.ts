import type { Schedule, Step, TaskPlan } from '../schedule.ts'

/** A case small enough that all that can happen in it is tried. */
export interface Case {
  readonly processes: number
  readonly keys: number
  /** So many things may go wrong in one run. */
  readonly faults: number
  /** Whether the store wakes those who wait, or they poll. */
  readonly push: boolean
}

export const LEASE_MS = 300
/** With one renewal, at a third of the lease. */
export const WORK_MS = 120
const WAIT_MS = 1000
/** Longer than the lease. */
export const PAUSE_MS = 360

/** Every process takes one key after the other, and works when it has all, from the same moment on. Clocks run equally fast. */
export function scheduleOf({ processes, keys, push }: Case): Schedule {
  const tasks = Array.from({ length: processes }, (_, process) => taskOf(process, keys))
  const plan = {
    clockRate: 1,
    coarseTimers: false,
    timerLatenessMs: 0,
    stallChance: 0,
    stallMs: 0,
    callTimeout: 80,
    // As long as courtesy can be at most: then no mean of latencies decides about it.
    poll: { min: 250, max: 250 },
  }
  const calm = { loss: 0, double: 0, late: 0, reset: 0, itemFault: 0, pushLoss: 0, pushSpurious: 0 }
  return {
    seed: 1,
    server: { clockOffset: 1_700_000_000_000, clockRate: 1, push },
    network: { latencyMs: [0, 1], ...calm },
    calmAt: 0,
    processes: Array.from({ length: processes }, (_, index) => ({ ...plan, clockOffset: 1e9 * (index + 1) })),
    tasks,
    faults: [],
  }
}

function taskOf(process: number, keys: number): TaskPlan {
  const options = { lease: LEASE_MS, wait: WAIT_MS }
  let body: readonly Step[] = [{ do: 'work', ms: WORK_MS }]
  for (let key = keys - 1; key > 0; key -= 1) body = [{ do: 'nest', key, options, body }]
  // A body that works on after a loss is the dangerous kind.
  return { id: process, process, at: 0, how: 'using', key: 0, options, heedsLoss: process % 2 === 0, body }
}
