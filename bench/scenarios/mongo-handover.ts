import { passBaton } from '../baton.ts'
import { afterPauses, inTrips, inWrites } from '../handover.ts'
import { onServer, withDatabase } from '../mongo/server.ts'
import type { Samples } from '../throughput.ts'

const TURNS_EACH = 80
const PAUSES = { pauseMs: 60, count: 60 }
/** How long before it becomes free one must have asked for it to have waited for it. */
const IN_LINE_MS = 10
const FILE = new URL('../mongo/handover-process.ts', import.meta.url)

/**
 * From the moment when one gives a key back to the moment when the other has it: a confirmed write, the word of the
 * change stream, and another such write. Both had nothing to do meanwhile, so the write to compare with is one after
 * a pause, too.
 */
export function handover(): Promise<Samples> {
  return withDatabase(async (url) => {
    const passed = await passBaton(FILE, [url, String(TURNS_EACH)], IN_LINE_MS)
    const { writeMs, pingMs } = await roundTrips(url)
    return { ...inWrites(passed, writeMs), ...inTrips(passed, pingMs) }
  })
}

function roundTrips(url: string): Promise<{ writeMs: number; pingMs: number }> {
  return onServer(url, async (db) => {
    // `freed`, as a record of holdfast that nobody holds.
    const trips = db.collection<{ _id: string; freed: number }>('trips')
    const write = (i: number): Promise<unknown> =>
      trips.updateOne({ _id: 'trip' }, { $set: { freed: i } }, { upsert: true })
    const ping = (): Promise<unknown> => db.command({ ping: 1 })
    return { writeMs: await afterPauses(write, PAUSES), pingMs: await afterPauses(ping, PAUSES) }
  })
}
