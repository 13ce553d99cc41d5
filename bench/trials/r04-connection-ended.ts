import { setTimeout as sleep } from 'node:timers/promises'
import { median, ms, usual } from './facts.ts'
import { ON_REDIS, type Trial } from './trial.ts'

const LEASE_MS = 10_000

export const connectionEnded: Trial = {
  id: 'R4',
  title: 'The server ends the connection of the holder',
  done: 'A section with a lease of 10 s. After 0.3 s the server ends all connections (CLIENT KILL, pg_terminate_backend). 2 s later another client tries to take the lock.',
  wish: 'The process lives, and the lock is kept: a lease does not hang on a connection. Where it does, the holder is told.',
  contenders: [...ON_REDIS, 'holdfast-postgres', 'verrou-postgres', 'advisory-lock'],
  runs: 3,
  limitMs: 20_000,
  async play({ open, openBeside, key, stage }) {
    const library = await open()
    const facts = { toldMs: null as number | null, kept: false, error: null as string | null }
    await library
      .section(key, { leaseMs: LEASE_MS }, async ({ onLoss }) => {
        await sleep(300)
        const start = performance.now()
        onLoss?.(() => (facts.toldMs ??= performance.now() - start))
        await stage.terminate()
        await sleep(2_000)
        const beside = await openBeside()
        facts.kept = await beside.take(key, { leaseMs: 1_000, waitMs: 0 }).then(
          () => false,
          () => true,
        )
      })
      .catch((error: unknown) => {
        facts.error = String(error)
      })
    return facts
  },
  tell(plays) {
    const told = median(plays, 'toldMs')
    const kept = usual(plays, 'kept')
    const word = told === null ? (kept ? '' : ', never told') : `, told after ${ms(told)}`
    return `process lives, lock ${kept ? 'kept' : 'lost'}${word}`
  },
}
