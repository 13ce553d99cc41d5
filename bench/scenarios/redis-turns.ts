import { setTimeout } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { Crew } from '../crew.ts'
import { between, callsOf, commandStats, type CommandStats, sentByHoldfast } from '../redis/command-stats.ts'
import { open } from '../redis/contenders.ts'
import type { RedisContender } from '../redis/figures.ts'
import { percentile } from '../percentile.ts'
import { keysWith, onServer, withKeys } from '../redis/server.ts'
import { clock, inOrder, refuseOverlap, type Stay } from '../stay.ts'
import type { Samples } from '../throughput.ts'
import { WARM_UP_ROUNDS } from '../turn.ts'

const PROCESSES = 20
const ROUNDS = 9
const ROUNDS_OF_PEERS = 3
/** For those of whom nobody can tell that they wait; and for what may follow a turn. */
const SETTLED_MS = 300
const FILE = new URL('../redis/turns-process.ts', import.meta.url)

interface Round {
  readonly start: number
  readonly stays: readonly Stay[]
  readonly stats: CommandStats
}

/** From the release that lets the first in to the end of the last turn; commands from the first who asks. */
export function turns(contender: RedisContender): Promise<Samples> {
  return withKeys(async (url, prefix) => {
    const crew = await Crew.gather(PROCESSES, FILE, [url, prefix, JSON.stringify(contender)])
    const own = contender.kind === 'holdfast'
    const rounds: Round[] = []
    const opened = await open(contender, url, prefix)
    await onServer(url, async (client) => {
      while (rounds.length < WARM_UP_ROUNDS + (own ? ROUNDS : ROUNDS_OF_PEERS)) {
        const unlock = await opened.lock('turn')
        const before = await commandStats(client)
        const taken = crew.tell<Stay>('turn')
        await (own ? untilAllWait(client, prefix) : setTimeout(SETTLED_MS))
        const start = clock()
        await unlock()
        const stays = inOrder(await taken)
        refuseOverlap(stays)
        await setTimeout(SETTLED_MS)
        const stats = new Map(between(before, await commandStats(client)))
        if (own) for (const name of PROBES) stats.delete(name)
        rounds.push({ start, stays, stats })
      }
    })
    await opened.close()
    await crew.dismiss()
    return figuresOf(rounds, own)
  })
}

function figuresOf(rounds: readonly Round[], own: boolean): Samples {
  const counted = rounds.slice(WARM_UP_ROUNDS)
  const allMs = counted.map(({ start, stays }) => (stays.at(-1)?.to ?? NaN) - start)
  const betweenMs = counted.flatMap(({ start, stays }) =>
    stays.map(({ from }, i) => from - (stays[i - 1]?.to ?? start)),
  )
  const holdMs = counted.flatMap(({ stays }) => stays.map(({ from, to }) => to - from))
  const samples = {
    allMs,
    perSecond: [(PROCESSES / percentile(allMs, 50)) * 1000],
    calls: counted.map(({ stats }) => callsOf(stats)),
    holdMs: [percentile(holdMs, 50)],
    betweenP50Ms: [percentile(betweenMs, 50)],
    betweenP99Ms: [percentile(betweenMs, 99)],
  }
  if (!own) return samples
  const sent = rounds.map(({ stats }) => sentByHoldfast(stats))
  return { ...samples, sent: sent.slice(WARM_UP_ROUNDS), sentFirst: sent.slice(0, 1) }
}

/** What this alone sends. */
const PROBES = ['scan', 'getrange']

/** Until each is in the list of those who wait. */
async function untilAllWait(client: Redis, prefix: string): Promise<void> {
  const record = (await keysWith(client, prefix)).find((name) => name.endsWith(':turn')) ?? ''
  for (;;) {
    const { waiters = '' } = JSON.parse(await client.getrange(record, 0, -1)) as { waiters?: string }
    // Each has a space after it.
    if (waiters.split(' ').length > PROCESSES) return
    await setTimeout(20)
  }
}
