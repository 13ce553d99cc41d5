import { collectGarbage } from './heap.ts'

/** What a scenario measured, by name; several values where it can measure more than once. */
export type Samples = Readonly<Record<string, readonly number[]>>

/**
 * How many times a second `one` can be done by `tasks` loops side by side, and what each costs in
 * processor time, which a busy machine disturbs less. Counted, not timed: a loop that never waits for
 * anything but promises would not let a timer end it.
 */
export async function throughput(
  tasks: number,
  count: number,
  one: (i: number) => Promise<unknown>,
): Promise<Samples> {
  let next = 0
  const loop = async (end: number): Promise<void> => {
    while (next < end) await one(next++)
  }
  const run = (end: number): Promise<unknown> => Promise.all(Array.from({ length: tasks }, () => loop(end)))
  const warmUp = Math.floor(count / 4)
  await run(warmUp)
  collectGarbage()
  const cpu = process.cpuUsage()
  const start = performance.now()
  await run(warmUp + count)
  const wallMs = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  return { perSecond: [(count / wallMs) * 1000], cpuUs: [(user + system) / count] }
}
