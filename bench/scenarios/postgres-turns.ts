import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { Locks } from '../../src/index.ts'
import { holdfast } from '../built.ts'
import { Crew } from '../crew.ts'
import { onServer, withDatabase } from '../postgres/database.ts'
import { CREATE, giveBack, take } from '../postgres/plain.ts'
import { clock, inOrder, refuseOverlap, type Stay } from '../stay.ts'
import type { Samples } from '../throughput.ts'
import { WARM_UP_ROUNDS } from '../turn.ts'

const PROCESSES = 20
const ROUNDS = 9
const FLOOR_SAMPLES = 40
const ALL_WAIT = `select from holdfast_locks where key = 'turn' and cardinality(waiters) = ${PROCESSES}`
const FILE = new URL('../postgres/turns-process.ts', import.meta.url)

/** From the release that lets the first in to the end of the last turn, and what each turn takes on top of its hold. */
export function turns(): Promise<Samples> {
  return withDatabase(async (url) => {
    const locks = holdfast.createLocks(url)
    const crew = await Crew.gather(PROCESSES, FILE, [url])
    const allMs: number[] = []
    const betweenMs: number[] = []
    for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round += 1) {
      const lease = await locks.acquire('turn')
      const taken = crew.tell<Stay>('turn')
      await until(url, ALL_WAIT)
      const start = clock()
      await lease.release()
      const done = inOrder(await taken)
      refuseOverlap(done)
      if (round < 0) continue
      allMs.push((done.at(-1)?.to ?? NaN) - start)
      const between = done.map(({ from }, i) => from - (done[i - 1]?.to ?? start))
      betweenMs.push(between.reduce((sum, ms) => sum + ms, 0) / PROCESSES)
    }
    const floorMs = await floor(url, crew, locks)
    await crew.dismiss()
    await locks.close()
    return { allMs, betweenMs, floorMs }
  })
}

/**
 * What no hand-over between processes can do without, while as many listen: one NOTIFY that is heard, and one statement
 * that is on disk.
 */
async function floor(url: string, crew: Crew, locks: Locks): Promise<number[]> {
  const lease = await locks.acquire('turn')
  const taken = crew.tell<Stay>('turn')
  await until(url, ALL_WAIT)
  const samples = await onServer(url, (speaker) =>
    onServer(url, async (listener) => {
      await speaker.query(CREATE)
      await listener.query('listen floor')
      const each: number[] = []
      for (let i = 0; i < FLOOR_SAMPLES; i += 1) {
        await setTimeout(25)
        const heard = once(listener, 'notification')
        const start = performance.now()
        const said = speaker.query(`select pg_notify('floor', '')`)
        await heard
        const owner = await take(listener, 'floor')
        each.push(performance.now() - start)
        await said
        await giveBack(listener, 'floor', owner ?? '')
      }
      return each
    }),
  )
  await lease.release()
  await taken
  return samples
}

async function until(url: string, query: string): Promise<void> {
  await onServer(url, async (client) => {
    while ((await client.query(query)).rowCount === 0) await setTimeout(20)
  })
}
