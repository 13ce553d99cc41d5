import { setTimeout as sleep } from 'node:timers/promises'
import { median, ms, settles, usual } from './facts.ts'
import { ON_SERVERS, type Trial } from './trial.ts'

export const lateRelease: Trial = {
  id: 'R5',
  title: 'Release after the lease has run out',
  done: 'A lock with a lease of 0.5 s that nobody renews is released after 0.7 s.',
  wish: 'It says so at once, and does not throw: there is nothing left to do.',
  contenders: [...ON_SERVERS, 'holdfast-memory', 'verrou-memory'],
  runs: 3,
  limitMs: 20_000,
  async play({ open, key }) {
    const library = await open()
    await (await library.take(`${key}-before`, { leaseMs: 10_000 })).release()
    const taken = await library.take(key, { leaseMs: 500 })
    await sleep(700)
    const { ms: tookMs, error = null, value } = await settles(taken.release(), 10_000)
    return { tookMs, error, value: typeof value === 'boolean' ? value : null }
  },
  tell(plays) {
    const took = median(plays, 'tookMs')
    const error = usual(plays, 'error')
    const value = usual(plays, 'value')
    if (took === null) return 'no end within 10 s'
    if (error !== null) return `throws after ${ms(took)}: ${error}`
    return `${value === null ? 'resolves' : `resolves to ${String(value)}`} after ${ms(took)}`
  },
}
