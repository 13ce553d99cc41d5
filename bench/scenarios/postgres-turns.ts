import { setTimeout } from 'node:timers/promises'
import { holdfast } from '../built.ts'
import { Crew } from '../postgres/crew.ts'
import { onServer, withDatabase } from '../postgres/database.ts'
import type { Turn } from '../postgres/turns-process.ts'
import type { Samples } from '../throughput.ts'

const PROCESSES = 20
const ROUNDS = 9
/** Rounds that do not count. */
const WARM_UP = 2
const FILE = new URL('../postgres/turns-process.ts', import.meta.url)

/** From the release that lets the first in to the end of the last turn, and what each turn takes on top of its hold. */
export function turns(): Promise<Samples> {
  return withDatabase(async (url) => {
    const locks = holdfast.createLocks(url)
    const crew = await Crew.gather(PROCESSES, FILE, [url])
    const allMs: number[] = []
    const betweenMs: number[] = []
    for (let round = -WARM_UP; round < ROUNDS; round += 1) {
      const lease = await locks.acquire('turn')
      const taken = crew.tell<Turn>('turn')
      await until(
        url,
        `select from holdfast_locks where key = 'turn' and cardinality(waiters) = ${PROCESSES}`,
      )
      const start = Number(process.hrtime.bigint()) / 1e6
      await lease.release()
      const done = (await taken).sort((a, b) => a.from - b.from)
      if (round < 0) continue
      allMs.push((done.at(-1)?.to ?? NaN) - start)
      const between = done.map(({ from }, i) => from - (done[i - 1]?.to ?? start))
      if (between.some((ms) => ms < 0)) throw new Error('two had their turn at once')
      betweenMs.push(between.reduce((sum, ms) => sum + ms, 0) / PROCESSES)
    }
    await crew.dismiss()
    await locks.close()
    return { allMs, betweenMs }
  })
}

async function until(url: string, query: string): Promise<void> {
  await onServer(url, async (client) => {
    while ((await client.query(query)).rowCount === 0) await setTimeout(20)
  })
}
