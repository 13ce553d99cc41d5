import { setTimeout as sleep } from 'node:timers/promises'
import { median, ms, settles, usual } from './facts.ts'
import { ON_REDIS, type Trial } from './trial.ts'

const LEASE_MS = 4_000
const WAIT_MS = 3_000
const WATCHED_MS = 6_000

export const lostReply: Trial = {
  id: 'R16',
  title: 'The reply of the grant is lost',
  done: 'A free key is asked for with a lease of 4 s and a wait of 3 s. The request arrives, the reply does not: 0.15 s later the connection is reset, and a new one works at once. All else is default. What the call comes to; and when another client can have the key if it does not get it.',
  wish: 'The call gets the lock when it asks again: it is its own. Or it rejects, and the key is free.',
  contenders: [...ON_REDIS, 'holdfast-postgres', 'verrou-postgres', 'holdfast-mongo', 'mongo-dlock'],
  runs: 3,
  limitMs: 60_000,
  proxied: true,
  async play({ open, openBeside, key, stage }) {
    const [library, beside] = [await open(), await openBeside()]
    await (await library.take(`${key}-before`, { leaseMs: 10_000 })).release()
    await (await beside.take(`${key}-beside`, { leaseMs: 10_000 })).release()
    await stage.dropReplies()
    const start = performance.now()
    const asked = settles(library.take(key, { leaseMs: LEASE_MS, waitMs: WAIT_MS }), WATCHED_MS)
    await sleep(150)
    await stage.thaw()
    await stage.cut()
    const { ms: tookMs, value, error = null } = await asked
    let freeMs: number | null = null
    while (!value && freeMs === null && performance.now() - start < 2 * WATCHED_MS) {
      const got = await beside.take(key, { leaseMs: 100, waitMs: 0 }).catch(() => null)
      if (got) freeMs = performance.now() - start
      else await sleep(20)
    }
    return { tookMs, got: value !== undefined, error, freeMs }
  },
  tell(plays) {
    const took = median(plays, 'tookMs')
    if (usual(plays, 'got')) return `got after ${ms(took)}`
    const free = `the key can be had after ${ms(median(plays, 'freeMs'))}`
    return took === null
      ? `still pending after 6 s; ${free}`
      : `rejects after ${ms(took)} (${String(usual(plays, 'error'))}); ${free}`
  },
}
