import { setTimeout as sleep } from 'node:timers/promises'
import { median, ms, settles } from './facts.ts'
import type { Trial } from './trial.ts'

const LEASE_MS = 3_000

export const leftoverTimer: Trial = {
  id: 'R9',
  title: 'The work ends while a renewal is under way',
  done: 'A lease of 3 s. From 0.1 s before the first renewal each way takes 150 ms; the body ends 0.1 s after the renewal was sent. Then the client is closed. Timers that keep the process alive, and the time until it ends by itself.',
  wish: 'No timer is left, and the process ends.',
  contenders: ['holdfast', 'redlock', 'sesamecare', 'redlock-universal', 'redis-semaphore', 'redisson'],
  absent: 'The others on Redis do not renew.',
  runs: 3,
  limitMs: 25_000,
  proxied: true,
  lingers: true,
  async play({ open, key, stage, contender }) {
    const library = await open()
    await (await library.take(`${key}-before`, { leaseMs: 10_000 })).release()
    const start = performance.now()
    const section = library.section(key, { leaseMs: LEASE_MS }, async () => {
      const renewal = contender.renewsAfterMs?.(LEASE_MS) ?? 0
      await sleep(renewal - 100 - (performance.now() - start))
      await stage.delay(150)
      await sleep(renewal + 100 - (performance.now() - start))
    })
    const { error = null } = await settles(section, 12_000)
    await library.close()
    await sleep(20)
    const timers = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    return { timers, error }
  },
  tell(plays) {
    const timers = median(plays, 'timers') ?? 0
    const lingered =
      plays.map(({ lingeredMs }) => lingeredMs).toSorted((a, b) => a - b)[plays.length >> 1] ?? 0
    const ends = Number.isFinite(lingered)
      ? `the process ends after ${ms(lingered)}`
      : 'the process does not end'
    return `${timers} timer${timers === 1 ? '' : 's'} left; ${ends}`
  },
}
