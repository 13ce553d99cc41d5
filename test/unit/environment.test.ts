import { expect, it } from 'vitest'
import { keepAwake, LONGEST_TIMER_MS, systemEnvironment } from '../../src/environment.ts'
import { VirtualTime } from './support/virtual-time.ts'

it("a timer of the system's environment is never early by its clock", async () => {
  const { now, setTimer } = systemEnvironment
  const early: number[] = []
  await Promise.all(
    Array.from({ length: 500 }, async (_, index) => {
      // Any fraction of a millisecond, from and to.
      for (let pass = 0; pass < 4; pass += 1) {
        const delay = 1 + index * 0.013
        const due = now() + delay
        await new Promise<void>((resolve) => void setTimer(delay, resolve, false))
        if (now() < due) early.push(due - now())
      }
    }),
  )
  expect(early).toEqual([])
})

it('a process is kept alive until it may end, however long that is, and G12 nothing is left of it', async () => {
  const time = new VirtualTime()
  const letSleep = keepAwake(time)
  expect(time.awake).toBe(1)
  await time.advance(LONGEST_TIMER_MS)
  expect(time.awake).toBe(1)
  await time.advance(10 * LONGEST_TIMER_MS)
  expect(time.awake).toBe(1)
  letSleep()
  expect(time.timers).toBe(0)
})
