import type { SimulatedProcess } from '../simulated-process.ts'

/**
 * How late a timer may come on this process: core rounds delays up to whole milliseconds, setTimeout
 * drops fractions and has its own lateness, and a timer that came early is armed a second time.
 */
export function timerSlackMs({ plan }: SimulatedProcess): number {
  return 2 * (2 + (plan.coarseTimers ? plan.timerLatenessMs : 0))
}
