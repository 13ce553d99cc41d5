import { beforeAll, describe, expect, it } from 'vitest'
import { generateSchedule } from './generate.ts'
import { describeFailure, hashTrace } from './report.ts'
import { runSchedule } from './run.ts'
import { Tally } from './tally.ts'

/** Fixed, so that a failure is somebody's change and not bad luck. `npm run simulate` goes further. */
const FIRST_SEED = Number(process.env['SIMULATION_SEED'] ?? 1)
const SCHEDULES = 2000
const TIME_LIMIT_MS = 300_000

describe(`simulation, seeds from ${FIRST_SEED}`, () => {
  const tally = new Tally()
  let failure: string | null = null

  beforeAll(async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SCHEDULES && failure === null; seed++) {
      const result = await runSchedule(generateSchedule(seed))
      tally.merge(result.tally)
      if (result.violation) failure = await describeFailure(result)
    }
  }, TIME_LIMIT_MS)

  it(`G1–G12 hold in ${SCHEDULES} schedules`, () => {
    expect(failure ?? 'nothing failed').toBe('nothing failed')
  })

  // A schedule in which nothing happens proves nothing.
  it.each([
    'hand-off',
    'take-over',
    'loss',
    'compensation',
    'grant for nobody',
    'late answer',
    'doubled message',
    'doubled ask granted again',
    're-entry',
    'sibling waited',
    'given back while wanted',
    'renewal refused',
    'rotation',
    'lost-there',
    'lost-back',
    'faulty item',
    'push-lost',
    'stall',
    'fault: pause',
    'fault: crash',
    'fault: close',
    'fault: cut',
    'fault: freeze',
    'fault: slow',
    'fault: down',
    'fault: restart',
    'fault: forget',
    'fault: evict',
    'ended: ok',
    'ended: null',
    'ended: user error',
    'ended: LOCK_LOST',
    'ended: LOCK_ACQUIRE_TIMEOUT',
    'ended: LOCK_ABORTED',
    'ended: STORE_UNAVAILABLE',
    'ended: DEADLOCK',
    'ended: CLOSED',
  ])('the sample contains: %s', (what) => {
    expect(tally.counts.get(what) ?? 0).toBeGreaterThan(SCHEDULES / 100)
  })
})

describe('determinism', () => {
  it('the same seed gives the same trace', async () => {
    for (const seed of [7, 77, 777]) {
      const first = hashTrace(await runSchedule(generateSchedule(seed)))
      const second = hashTrace(await runSchedule(generateSchedule(seed)))
      expect(second).toBe(first)
    }
  })

  it('another seed gives another trace', async () => {
    const one = hashTrace(await runSchedule(generateSchedule(1)))
    expect(hashTrace(await runSchedule(generateSchedule(2)))).not.toBe(one)
  })
})
