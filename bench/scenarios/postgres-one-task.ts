import pg from 'pg'
import { holdfast } from '../built.ts'
import { percentile } from '../percentile.ts'
import { withDatabase } from '../postgres/database.ts'
import { CREATE, giveBack, take } from '../postgres/plain.ts'
import type { Samples } from '../throughput.ts'

const PAIRS = 2_000
const WARM_UP = 300

/** One task that nobody disturbs, in turns with two statements on one connection. */
export function oneTask(): Promise<Samples> {
  return withDatabase(async (url) => {
    const locks = holdfast.createLocks(url)
    const client = new pg.Client(url)
    await client.connect()
    await client.query(CREATE)
    const pairs: number[] = []
    const roundTrips: number[] = []
    for (let i = 0; i < WARM_UP + PAIRS; i += 1) {
      const key = `key ${i % 100}`
      const start = performance.now()
      const lease = await locks.acquire(key)
      await lease.release()
      const between = performance.now()
      const owner = await take(client, key)
      if (owner === null) throw new Error(`"${key}" is held`)
      await giveBack(client, key, owner)
      const end = performance.now()
      if (i < WARM_UP) continue
      pairs.push(between - start)
      roundTrips.push(end - between)
    }
    await client.end()
    await locks.close()
    const [pairMs, rawMs] = [percentile(pairs, 50), percentile(roundTrips, 50)]
    return { pairMs: [pairMs], rawMs: [rawMs], timesRaw: [pairMs / rawMs] }
  })
}
