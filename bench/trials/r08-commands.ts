import { setTimeout as sleep } from 'node:timers/promises'
import { median, number } from './facts.ts'
import type { Trial } from './trial.ts'

export const commandsWhileHeld: Trial = {
  id: 'R8',
  title: 'Commands while one short lease is held',
  done: 'A section with a lease of 1 s is held for 4 s; commands that the server counts (those inside scripts too) during 3 of them.',
  wish: 'A few per second.',
  contenders: ['holdfast', 'redlock', 'sesamecare', 'redlock-universal', 'redis-semaphore', 'redisson'],
  absent: 'The others on Redis do not renew, and so send none.',
  runs: 1,
  limitMs: 20_000,
  lanes: 1,
  async play({ open, key, stage }) {
    const library = await open()
    let perSecond = 0
    await library
      .section(key, { leaseMs: 1_000 }, async () => {
        await sleep(500)
        const before = await stage.commands()
        const start = performance.now()
        await sleep(3_000)
        const after = await stage.commands()
        // One connection of the stage: its greeting and its own INFO.
        perSecond = Math.max(0, (after - before - 1) / ((performance.now() - start) / 1000))
      })
      .catch(() => {})
    return { perSecond }
  },
  tell(plays) {
    const rate = median(plays, 'perSecond') ?? 0
    return `${rate < 100 ? rate.toFixed(1) : number(rate)} commands/s`
  },
}
