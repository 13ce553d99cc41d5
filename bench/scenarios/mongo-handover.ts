import { setTimeout } from 'node:timers/promises'
import { passBaton } from '../baton.ts'
import { onServer, withDatabase } from '../mongo/server.ts'
import { percentile } from '../percentile.ts'
import type { Samples } from '../throughput.ts'

const TURNS_EACH = 80
const PAUSE_MS = 60
const PAUSED = 60
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
    const [p50Ms, p99Ms] = [percentile(passed, 50), percentile(passed, 99)]
    return {
      p50Ms: [p50Ms],
      p99Ms: [p99Ms],
      writeMs: [writeMs],
      pingMs: [pingMs],
      p50Writes: [p50Ms / writeMs],
      p99Writes: [p99Ms / writeMs],
    }
  })
}

function roundTrips(url: string): Promise<{ writeMs: number; pingMs: number }> {
  return onServer(url, async (db) => {
    // `freed`, as a record of holdfast that nobody holds.
    const trips = db.collection<{ _id: string; freed: number }>('trips')
    const write = (i: number): Promise<unknown> =>
      trips.updateOne({ _id: 'trip' }, { $set: { freed: i } }, { upsert: true })
    return { writeMs: await medianOf(write), pingMs: await medianOf(() => db.command({ ping: 1 })) }
  })
}

async function medianOf(trip: (i: number) => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let i = -10; i < PAUSED; i += 1) {
    await setTimeout(PAUSE_MS)
    const start = performance.now()
    await trip(i)
    if (i >= 0) times.push(performance.now() - start)
  }
  return percentile(times, 50)
}
