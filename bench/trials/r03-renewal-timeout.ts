import { setTimeout as sleep } from 'node:timers/promises'
import { median, ms, usual } from './facts.ts'
import type { Trial } from './trial.ts'

const LEASE_MS = 3_000

export const renewalTimeout: Trial = {
  id: 'R3',
  title: 'One renewal times out',
  done: 'ioredis with `commandTimeout: 300`, a lease of 3 s. The server is stopped for 0.55 s around the first renewal of the library, whenever that is, and goes on before the lease has run out. Then 3 s more of work.',
  wish: 'The process lives. The renewal is tried again while there is time, and the lock is kept; or else the holder is told.',
  contenders: ['holdfast', 'redlock', 'sesamecare', 'redlock-universal', 'redis-semaphore', 'redisson'],
  absent: 'The others on Redis do not renew.',
  runs: 3,
  limitMs: 30_000,
  async play({ open, openBeside, key, stage, contender }) {
    const library = await open({ commandTimeoutMs: 300 })
    const beside = await openBeside()
    await (await library.take(`${key}-before`, { leaseMs: 10_000 })).release()
    const facts = { toldMs: null as number | null, kept: false, canTell: false, stays: false }
    const start = performance.now()
    const since = (): number => performance.now() - start
    await library
      .section(key, { leaseMs: LEASE_MS }, async ({ onLoss }) => {
        facts.canTell = onLoss !== undefined
        onLoss?.(() => (facts.toldMs ??= since()))
        const renewal = contender.renewsAfterMs?.(LEASE_MS) ?? 0
        await sleep(renewal - 100 - since())
        await stage.pause()
        await sleep(renewal + 450 - since())
        await stage.resume()
        await sleep(2 * LEASE_MS + 500 - since())
        facts.kept = await beside.take(key, { leaseMs: 1_000, waitMs: 0 }).then(
          () => false,
          () => true,
        )
      })
      .catch(() => {})
    return facts
  },
  tell(plays) {
    const told = median(plays, 'toldMs')
    const kept = usual(plays, 'kept') ? 'lock kept' : 'lock lost'
    return `process lives, ${kept}, ${told === null ? (usual(plays, 'kept') ? 'no alarm' : 'never told') : `told after ${ms(told)}`}`
  },
}
