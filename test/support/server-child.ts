// A process of its own that serves the locks of a store in memory, driven by messages.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createLocks } from '../../src/locks.ts'
import { listenLocks } from '../../src/server/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { answerCalls } from './answer-calls.ts'

export type ServerAction = keyof typeof actions

setFlagsFromString('--expose_gc')
const collect = runInNewContext('gc') as () => void
const locks = createLocks(memoryStore(), { logger: null, service: 'shop', lease: '1h' })
let round = 0

const actions = {
  async serve(token: string): Promise<string> {
    return (await listenLocks(locks, { port: 0, token })).url
  },

  async hold(count: number): Promise<void> {
    for (let from = 0; from < count; from += 1000) {
      const some = Math.min(1000, count - from)
      await locks.acquire(
        Array.from({ length: some }, (_, index) => `order:${from + index}`),
        { context: 'x'.repeat(100) },
      )
    }
  },

  /** So many keys come and go. */
  async churn(count: number): Promise<void> {
    round += 1
    const lease = await locks.acquire(
      Array.from({ length: count }, (_, index) => `churn:${round}:${index}`),
      { context: 'x'.repeat(100) },
    )
    setTimeout(() => void lease.release(), 1500)
  },

  /** In bytes, without what is garbage. */
  async memory(): Promise<{ used: number; resident: number }> {
    collect()
    await new Promise((resolve) => setImmediate(resolve))
    collect()
    const { heapUsed, external, rss } = process.memoryUsage()
    return { used: heapUsed + external, resident: rss }
  },
}

answerCalls(actions)
