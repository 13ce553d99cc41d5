import { setTimeout as sleep } from 'node:timers/promises'
import { median, number } from './facts.ts'
import { ON_REDIS, type Trial } from './trial.ts'

const CLIENTS = 4
const HOLD_MS = 10
const FOR_MS = 2_000

export const shares: Trial = {
  id: 'R19',
  title: 'Four clients that want one key all the time',
  done: 'Four clients, each with its own connection, take one key, hold it for 10 ms, release it and ask again, for 2 s; all else is default, with a wait of 30 s. Turns of each.',
  wish: 'Nobody starves, and the key is seldom idle: 200 turns would be all the time there is.',
  contenders: [...ON_REDIS, 'redisson-streams', 'holdfast-postgres', 'verrou-postgres', 'advisory-lock'],
  runs: 3,
  limitMs: 60_000,
  lanes: 2,
  async play({ open, key }) {
    const clients = []
    for (let i = 0; i < CLIENTS; i += 1) clients.push(await open())
    for (const client of clients) await (await client.take(`${key}-before`, { leaseMs: 10_000 })).release()
    const end = performance.now() + FOR_MS
    const turns = await Promise.all(
      clients.map(async (client) => {
        let count = 0
        while (performance.now() < end) {
          const taken = await client.take(key, { leaseMs: 30_000, waitMs: 30_000 }).catch(() => null)
          if (!taken) continue
          await sleep(HOLD_MS)
          await taken.release()
          if (performance.now() < end) count += 1
        }
        return count
      }),
    )
    const total = turns.reduce((sum, each) => sum + each, 0)
    return { total, least: Math.min(...turns), most: Math.max(...turns) }
  },
  tell(plays) {
    const [total, least, most] = ['total', 'least', 'most'].map((name) => number(median(plays, name) ?? 0))
    return `${total} turns; ${least} for the one that had fewest, ${most} for the one that had most`
  },
}
