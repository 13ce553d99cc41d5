import { afterEach, expect, it, vi } from 'vitest'
import { Listener } from '../../src/stores/postgres/listener.ts'

// The pause between two echoes, in no time.
vi.mock('node:timers/promises', () => ({ setTimeout: () => new Promise((resolve) => setImmediate(resolve)) }))

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
