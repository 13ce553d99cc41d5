import { setTimeout } from 'node:timers/promises'
import { passBaton } from '../baton.ts'
import { percentile } from '../percentile.ts'
import { onServer, withDatabase } from '../postgres/database.ts'
import type { Samples } from '../throughput.ts'

const TURNS_EACH = 120
const PAUSE_MS = 25
const PAUSED = 100
/** How long before it becomes free one must have asked for it to have waited for it. */
const IN_LINE_MS = 5
const FILE = new URL('../postgres/handover-process.ts', import.meta.url)

/**
 * From the moment when one gives a key back to the moment when the other has it: a release, its message, and a grant
 * that is on disk. Both had nothing to do meanwhile, so the write to compare with is one after a pause, too.
 */
export function handover(): Promise<Samples> {
  return withDatabase(async (url) => {
    const passed = await passBaton(FILE, [url, String(TURNS_EACH)], IN_LINE_MS)
    const writeMs = await durableWrite(url)
    const [p50Ms, p99Ms] = [percentile(passed, 50), percentile(passed, 99)]
    return {
      p50Ms: [p50Ms],
      p99Ms: [p99Ms],
      writeMs: [writeMs],
      p50Writes: [p50Ms / writeMs],
      p99Writes: [p99Ms / writeMs],
    }
  })
}

function durableWrite(url: string): Promise<number> {
  return onServer(url, async (client) => {
    await client.query('create table trips (id integer primary key, count integer not null)')
    await client.query('insert into trips values (1, 0)')
    const times: number[] = []
    for (let i = 0; i < PAUSED; i += 1) {
      await setTimeout(PAUSE_MS)
      const start = performance.now()
      await client.query({ name: 'trip', text: 'update trips set count = count + 1 where id = 1' })
      times.push(performance.now() - start)
    }
    return percentile(times, 50)
  })
}
