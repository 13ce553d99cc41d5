import { setTimeout as sleep } from 'node:timers/promises'
import { median, ms, settles, usual } from './facts.ts'
import type { Trial } from './trial.ts'

const LEASE_MS = 3_000

export const takenAway: Trial = {
  id: 'R15',
  title: 'Contention, and a lock that is taken away',
  done: 'A holds a lock with a lease of 3 s; B asks for it with its default wait and A releases 0.4 s later. Then, in a section, the lock is taken away: etcd revokes the lease, holdfast has `forceRelease` of another client, with the others FLUSHALL. Time until the section is told.',
  wish: 'B waits and has it at once. The section is told, at the latest at its next renewal.',
  contenders: [
    'holdfast',
    'etcd3',
    'etcd3-election',
    'redlock',
    'sesamecare',
    'redlock-universal',
    'redis-semaphore',
    'redisson',
    'verrou',
  ],
  absent:
    'holdfast has no store on etcd; it takes part with Redis. etcd under a server that stands still is in R1.',
  runs: 3,
  limitMs: 30_000,
  async play({ open, openBeside, key, stage }) {
    const [library, beside] = [await open(), await openBeside()]
    const taken = await library.take(`${key}-first`, { leaseMs: LEASE_MS })
    const asked = settles(beside.take(`${key}-first`, { leaseMs: LEASE_MS }), 6_000)
    await sleep(400)
    const start = performance.now()
    await taken.release()
    const { value, ms: tookMs } = await asked
    const facts = {
      waits: value !== undefined,
      afterMs: tookMs === null ? null : performance.now() - start,
      toldMs: null as number | null,
    }
    await value?.release()
    await library
      .section(key, { leaseMs: LEASE_MS }, async ({ onLoss }) => {
        const from = performance.now()
        onLoss?.(() => (facts.toldMs ??= performance.now() - from))
        await (beside.evict ? beside.evict(key) : stage.flush())
        for (let i = 0; i < 500 && facts.toldMs === null; i += 1) await sleep(10)
      })
      .catch(() => {})
    return facts
  },
  tell(plays) {
    const waits = usual(plays, 'waits')
      ? `B has it ${ms(median(plays, 'afterMs'))} after the release`
      : 'B is refused'
    const told = median(plays, 'toldMs')
    return `${waits}; ${told === null ? 'never told of the loss (5 s)' : `told of the loss after ${ms(told)}`}`
  },
}
