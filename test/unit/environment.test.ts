import { expect, it } from 'vitest'
import { systemEnvironment } from '../../src/environment.ts'

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
