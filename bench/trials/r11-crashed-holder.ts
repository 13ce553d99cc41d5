import { median, ms, settles, usual } from './facts.ts'
import { ON_REDIS, type Trial } from './trial.ts'

const LEASE_MS = 1_000
const WAIT_MS = 5_000

export const crashedHolder: Trial = {
  id: 'R11',
  title: 'Waiting for a holder that has crashed',
  done: 'A takes a lock with a lease of 1 s and is never heard of again. B asks for it at once and is ready to wait for 5 s; all other settings are defaults.',
  wish: 'B has it soon after 1,000 ms.',
  contenders: [...ON_REDIS, 'holdfast-postgres', 'verrou-postgres', 'holdfast-mongo', 'mongo-dlock'],
  absent:
    'mongo-locks and etcd3 do not wait; the lock of advisory-lock ends with the connection of its holder. mongo-dlock has no limit for a wait.',
  runs: 3,
  limitMs: 30_000,
  async play({ open, openBeside, key }) {
    const [first, second] = [await open(), await openBeside()]
    await (await second.take(`${key}-before`, { leaseMs: 10_000 })).release()
    const start = performance.now()
    await first.take(key, { leaseMs: LEASE_MS })
    const { value, error = null } = await settles(
      second.take(key, { leaseMs: 10_000, waitMs: WAIT_MS }),
      12_000,
    )
    return { gotMs: performance.now() - start, got: value !== undefined, error }
  },
  tell(plays) {
    const got = median(plays, 'gotMs')
    return usual(plays, 'got') ? `got after ${ms(got)}` : `gives up after ${ms(got)}`
  },
}
