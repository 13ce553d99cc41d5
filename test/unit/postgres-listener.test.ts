import { afterEach, expect, it, vi } from 'vitest'
import { Listener } from '../../src/stores/postgres/listener.ts'

const pauses = vi.hoisted((): number[] => [])

// All pauses, in no time.
vi.mock('node:timers/promises', () => ({
  setTimeout: (ms: number) => {
    pauses.push(ms)
    return new Promise((resolve) => setImmediate(resolve))
  },
}))

const warnings: string[] = []
const note = (warning: Error): number => warnings.push(String(warning))
process.on('warning', note)
afterEach(() => process.off('warning', note))

it('G12 a connection that listens for years keeps nothing of the echoes that came', async () => {
  let hear: (payload: string) => void = () => undefined
  let echoes = 0
  let enough: () => void = () => undefined
  const many = new Promise<void>((resolve) => (enough = resolve))
  const listener = new Listener({
    database: {
      run: () => Promise.reject(new Error('unused')),
      script: () => Promise.reject(new Error('unused')),
      listen: async (_, ears) => {
        hear = ears.heard
        return { close: async () => undefined }
      },
      close: async () => undefined,
    },
    channel: 'channel',
    notify: async (_, payload) => {
      echoes += 1
      if (echoes === 50) enough()
      setImmediate(() => hear(payload))
    },
    heard: () => undefined,
    up: () => undefined,
  })
  await many
  await listener.stop()
  // Node tells of a leak in the next turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve))
  expect(warnings).toEqual([])
})

it('a connection that cannot be had is tried again after pauses that grow to 10 s, and shrink once it was there', async () => {
  const [tries, good] = [10, 11]
  let opened = 0
  let enough: () => void = () => undefined
  const done = new Promise<void>((resolve) => (enough = resolve))
  let ears: { heard(payload: string): void; lost(): void } | undefined
  pauses.length = 0
  const listener = new Listener({
    database: {
      run: () => Promise.reject(new Error('unused')),
      script: () => Promise.reject(new Error('unused')),
      listen: async (_, given) => {
        opened += 1
        if (opened === good + 1) enough()
        if (opened !== good) throw new Error('no connection')
        ears = given
        return { close: async () => undefined }
      },
      close: async () => undefined,
    },
    channel: 'channel',
    notify: async (_, payload) => setImmediate(() => ears?.heard(payload)),
    heard: () => undefined,
    up: () => ears?.lost(),
  })
  await done
  await listener.stop()
  // Around 100 ms, twice that, and so on; each up to half shorter or longer, so that not all come back at once.
  for (const [i, ms] of pauses.slice(0, tries).entries()) {
    const around = Math.min(100 * 2 ** i, 10_000)
    expect(ms).toBeGreaterThanOrEqual(around / 2)
    expect(ms).toBeLessThan(around * 1.5)
  }
  // The one behind the echo is cut short by the loss.
  const [echo, again] = pauses.slice(tries)
  expect(echo).toBe(15_000)
  expect(again).toBeLessThan(150)
})
