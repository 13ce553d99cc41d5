import { expect, it } from 'vitest'
import { generateSchedule } from './generate.ts'
import type { RunResult } from './run.ts'
import type { Schedule } from './schedule.ts'
import { shrink } from './shrink.ts'
import { Tally } from './tally.ts'

/** Stands for a bug that needs one task and one fault, whatever else is in the schedule. */
async function run(schedule: Schedule): Promise<RunResult> {
  const fails =
    schedule.tasks.some((task) => task.id === 3) && schedule.faults.some((fault) => fault.do === 'pause')
  const violation = fails ? { guarantee: 'G1', message: 'planted', time: 0 } : null
  return { schedule, violation, trace: [], steps: 0, tally: new Tally() }
}

it('leaves out everything that a failure does not need', async () => {
  let seed = 1
  while ((await run(generateSchedule(seed))).violation === null) seed += 1
  const { schedule, violation } = await shrink(await run(generateSchedule(seed)), run)

  expect(violation?.guarantee).toBe('G1')
  expect(schedule.tasks.map((task) => task.id)).toEqual([3])
  expect(schedule.tasks[0]?.body).toEqual([])
  expect(schedule.faults.map((fault) => fault.do)).toEqual(['pause'])
  expect(schedule.network.loss + schedule.network.double + schedule.network.late).toBe(0)
  expect(schedule.processes.every((process) => process.clockRate === 1)).toBe(true)
})
