import { setTimeout } from 'node:timers/promises'
import { passBaton } from '../baton.ts'
import { percentile } from '../percentile.ts'
import { onServer, withKeys } from '../redis/server.ts'
import type { Samples } from '../throughput.ts'

const TURNS_EACH = 150
const PAUSE_MS = 10
const PAUSED_TRIPS = 200
const BUSY_TRIPS = 5_000
/** How long before it becomes free one must have asked for it to have waited for it. */
const IN_LINE_MS = 1
const FILE = new URL('../redis/handover-process.ts', import.meta.url)

/**
 * From the moment when one gives a key back to the moment when the other has it. Both had nothing to do meanwhile, so
 * the round trip to compare with is one after a pause, too.
 */
export function handover(): Promise<Samples> {
  return withKeys(async (url, prefix) => {
    const passed = (await passBaton(FILE, [url, prefix, String(TURNS_EACH)], IN_LINE_MS)).map(
      (ms) => ms * 1000,
    )
    await roundTrips(url, BUSY_TRIPS, 0)
    const tripUs = percentile(await roundTrips(url, PAUSED_TRIPS, PAUSE_MS), 50)
    const busyTripUs = percentile(await roundTrips(url, BUSY_TRIPS, 0), 50)
    const [p50Us, p99Us] = [percentile(passed, 50), percentile(passed, 99)]
    return {
      p50Us: [p50Us],
      p99Us: [p99Us],
      tripUs: [tripUs],
      busyTripUs: [busyTripUs],
      p50Trips: [p50Us / tripUs],
      p99Trips: [p99Us / tripUs],
    }
  })
}

/** In µs. */
function roundTrips(url: string, count: number, pauseMs: number): Promise<number[]> {
  return onServer(url, async (client) => {
    const trips: number[] = []
    await client.ping()
    for (let i = 0; i < count; i += 1) {
      if (pauseMs > 0) await setTimeout(pauseMs)
      const start = performance.now()
      await client.ping()
      trips.push((performance.now() - start) * 1000)
    }
    return trips
  })
}
