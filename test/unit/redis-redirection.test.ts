import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Deadline } from '../../src/stores/redis/deadline.ts'
import { isMoving } from '../../src/stores/redis/failures.ts'
import { redirected } from '../../src/stores/redis/redirection.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** How often it is sent, and how that ends, if each time the answer is this and to follow it takes so long. */
async function ending(message: string, followMs: number, deadline: Deadline): Promise<[number, unknown]> {
  let sent = 0
  const send = async (): Promise<never> => {
    sent += 1
    throw new Error(message)
  }
  const follow = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, followMs))
  const end = redirected(deadline, send, follow).catch((error: unknown) => error)
  await vi.advanceTimersByTimeAsync(60_000)
  return [sent, await end]
}

it.each(['MOVED 1413 127.0.0.1:7000', 'ASK 1413 127.0.0.1:7000'])(
  'G5 after %s nothing is sent any more once whoever asked has been told',
  async (message) => {
    const [sent, error] = await ending(message, 1000, new Deadline())
    // At 0, 1 and 2 s; then 2.5 s are over.
    expect([sent, isMoving(error)]).toEqual([3, true])
    const told = new Deadline()
    setTimeout(() => told.end(), 500)
    expect((await ending(message, 1000, told))[0]).toBe(1)
  },
)

it('what goes to and fro is given up after as many tries as ioredis makes', async () => {
  expect((await ending('MOVED 1413 127.0.0.1:7000', 10, new Deadline()))[0]).toBe(17)
})

it('what was refused for another reason is not sent again', async () => {
  expect(await ending('NOSCRIPT No matching script', 10, new Deadline())).toEqual([
    1,
    new Error('NOSCRIPT No matching script'),
  ])
})
