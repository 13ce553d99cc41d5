import { passBaton } from '../baton.ts'
import { afterPauses, inTrips, inWrites } from '../handover.ts'
import { onServer, withDatabase } from '../postgres/database.ts'
import type { Samples } from '../throughput.ts'

const TURNS_EACH = 120
const PAUSES = { pauseMs: 25, count: 100 }
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
    const { writeMs, tripMs } = await roundTrips(url)
    return { ...inWrites(passed, writeMs), ...inTrips(passed, tripMs) }
  })
}

function roundTrips(url: string): Promise<{ writeMs: number; tripMs: number }> {
  return onServer(url, async (client) => {
    await client.query('create table trips (id integer primary key, count integer not null)')
    await client.query('insert into trips values (1, 0)')
    const write = { name: 'write', text: 'update trips set count = count + 1 where id = 1' }
    const trip = { name: 'trip', text: 'select 1' }
    return {
      writeMs: await afterPauses(() => client.query(write), PAUSES),
      tripMs: await afterPauses(() => client.query(trip), PAUSES),
    }
  })
}
