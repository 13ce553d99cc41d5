import { setTimeout as sleep } from 'node:timers/promises'
import { median, ms, settles, usual } from './facts.ts'
import type { Trial } from './trial.ts'

export const abortWhileAsking: Trial = {
  id: 'R12',
  title: 'Aborted while the grant is on its way',
  done: 'Each way takes 150 ms. A free key is asked for with an AbortSignal that aborts after 200 ms: the server has granted it by then, the client does not know. Another client tries to take it 1 s later.',
  wish: 'The call rejects, and the key is free again.',
  contenders: ['holdfast', 'redis-semaphore', 'holdfast-postgres', 'holdfast-mongo'],
  absent:
    'No other package that is here takes a signal for asking. syncguard, of which this is a known failure, could not be installed.',
  runs: 3,
  limitMs: 20_000,
  proxied: true,
  async play({ open, openBeside, key, stage }) {
    const [library, beside] = [await open(), await openBeside()]
    await (await library.take(`${key}-before`, { leaseMs: 10_000 })).release()
    await stage.delay(150)
    const asked = library.take(key, { leaseMs: 30_000, waitMs: 5_000, signal: AbortSignal.timeout(200) })
    const { ms: tookMs, error = null } = await settles(asked, 5_000)
    await sleep(1_000)
    const free = await beside.take(key, { leaseMs: 1_000, waitMs: 0 }).then(
      () => true,
      () => false,
    )
    return { tookMs, free, rejects: error !== null }
  },
  tell(plays) {
    const took = ms(median(plays, 'tookMs'))
    if (!usual(plays, 'rejects')) return `resolves with the lock after ${took}, as if it were not aborted`
    return `rejects after ${took}; 1 s later the key is ${usual(plays, 'free') ? 'free' : 'held, for nobody'}`
  },
}
