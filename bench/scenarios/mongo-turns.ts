import { setTimeout } from 'node:timers/promises'
import type { Db } from 'mongodb'
import { Crew } from '../crew.ts'
import { between, commandCounts, type Counts, total } from '../mongo/command-counts.ts'
import { open } from '../mongo/contenders.ts'
import type { MongoContender } from '../mongo/figures.ts'
import { onServer, withDatabase } from '../mongo/server.ts'
import { percentile } from '../percentile.ts'
import { clock, inOrder, refuseOverlap, type Stay } from '../stay.ts'
import type { Samples } from '../throughput.ts'
import { WARM_UP_ROUNDS } from '../turn.ts'

const PROCESSES = 20
const ROUNDS = 9
const ROUNDS_OF_PEERS = 3
/** For those of whom nobody can tell that they wait; and for what may follow a turn. */
const SETTLED_MS = 300
const FILE = new URL('../mongo/turns-process.ts', import.meta.url)

interface Round {
  readonly start: number
  readonly stays: readonly Stay[]
  readonly counts: Counts
}

/** From the release that lets the first in to the end of the last turn; commands from the first who asks. */
export function turns(contender: MongoContender): Promise<Samples> {
  return withDatabase(async (url) => {
    const crew = await Crew.gather(PROCESSES, FILE, [url, JSON.stringify(contender)])
    const own = contender.kind === 'holdfast'
    const rounds: Round[] = []
    const opened = await open(contender, url)
    await onServer(url, async (db) => {
      while (rounds.length < WARM_UP_ROUNDS + (own ? ROUNDS : ROUNDS_OF_PEERS)) {
        const unlock = await opened.lock('turn')
        const before = await commandCounts(db)
        const taken = crew.tell<Stay>('turn')
        const looks = own ? await untilAllWait(db) : await setTimeout(SETTLED_MS, 0)
        const start = clock()
        await unlock()
        const stays = inOrder(await taken)
        refuseOverlap(stays)
        await setTimeout(SETTLED_MS)
        const counts = new Map(between(before, await commandCounts(db)))
        counts.set('find', (counts.get('find') ?? 0) - looks)
        rounds.push({ start, stays, counts })
      }
    })
    await opened.close()
    await crew.dismiss()
    return figuresOf(rounds.slice(WARM_UP_ROUNDS))
  })
}

function figuresOf(rounds: readonly Round[]): Samples {
  const allMs = rounds.map(({ start, stays }) => (stays.at(-1)?.to ?? NaN) - start)
  const betweenMs = rounds.flatMap(({ start, stays }) =>
    stays.map(({ from }, i) => from - (stays[i - 1]?.to ?? start)),
  )
  const holdMs = rounds.flatMap(({ stays }) => stays.map(({ from, to }) => to - from))
  return {
    allMs,
    perSecond: [(PROCESSES / percentile(allMs, 50)) * 1000],
    commands: rounds.map(({ counts }) => total(counts)),
    getMores: rounds.map(({ counts }) => counts.get('getMore') ?? 0),
    holdMs: [percentile(holdMs, 50)],
    betweenP50Ms: [percentile(betweenMs, 50)],
    betweenP99Ms: [percentile(betweenMs, 99)],
  }
}

interface Waiting {
  readonly _id: string
  readonly waiters: readonly string[]
}

/** Until each is in the list of those who wait. Resolves to how often it looked. */
async function untilAllWait(db: Db): Promise<number> {
  for (let looks = 1; ; looks += 1) {
    const record = await db.collection<Waiting>('holdfast_locks').findOne({ _id: 'turn' })
    if (record?.waiters.length === PROCESSES) return looks
    await setTimeout(20)
  }
}
