import { Crew } from '../crew.ts'
import { overNetwork } from '../network.ts'
import { percentile } from '../percentile.ts'
import type { Led } from '../redis/election-process.ts'
import { onServer, withKeys } from '../redis/server.ts'
import { inOrder, refuseOverlap } from '../stay.ts'
import type { Samples } from '../throughput.ts'

const TERMS_EACH = 40
const TRIPS = 50
/** Each way. On one machine a round trip takes less than to wake a process, so that trips would count the wrong thing. */
const WAY_MS = 5
const FILE = new URL('../redis/election-process.ts', import.meta.url)

/** From the moment when the leader resigns to the first line of the next one's term, in another process. */
export function election(): Promise<Samples> {
  return withKeys(async (url, prefix) => {
    const [terms, tripMs] = await overNetwork(url, WAY_MS, async (place) => {
      const crew = await Crew.gather(2, FILE, [place, prefix, String(TERMS_EACH)])
      await crew.tell('warm up')
      const led = inOrder((await crew.tell<Led[]>('measure')).flat())
      const trip = percentile(await roundTrips(place), 50)
      await crew.dismiss()
      return [led, trip] as const
    })
    refuseOverlap(terms)
    const passed = terms.flatMap(({ from, pid }, i) => {
      const before = terms[i - 1]
      return before && before.pid !== pid ? [from - before.to] : []
    })
    if (passed.length < TERMS_EACH)
      throw new Error(`it went from one to the other ${passed.length} times only`)
    const [p50Ms, p99Ms] = [percentile(passed, 50), percentile(passed, 99)]
    return { p50Ms: [p50Ms], p99Ms: [p99Ms], tripMs: [tripMs], p50Trips: [p50Ms / tripMs] }
  })
}

/** In ms. */
function roundTrips(url: string): Promise<number[]> {
  return onServer(url, async (client) => {
    const trips: number[] = []
    await client.ping()
    for (let i = 0; i < TRIPS; i += 1) {
      const start = performance.now()
      await client.ping()
      trips.push(performance.now() - start)
    }
    return trips
  })
}
