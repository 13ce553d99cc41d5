import { setTimeout as sleep } from 'node:timers/promises'
import { mergeStats } from '../../src/monitor/merge-stats.ts'
import type { LockStats } from '../../src/index.ts'
import { type Account, countUnmatched, readBooks } from './books.ts'
import { Chaos, type Misfortunes } from './chaos.ts'
import { type Database, openDatabase } from './database.ts'
import { Fleet } from './fleet.ts'
import type { Usage } from './messages.ts'
import { stockUp } from './schema.ts'
import type { Keeping } from './stock-room.ts'
import { type Tally, Traffic } from './traffic.ts'

export interface RunOptions {
  readonly store: string
  readonly db: string
  readonly keeping: Keeping
  readonly instances: number
  readonly seconds: number
  readonly concurrency: number
  readonly commodities: number
  readonly thinkMs: number
  readonly leaseMs: number
  readonly chaos: boolean
  /** Called each second. */
  readonly onSecond?: (outcome: Outcome) => void
  readonly signal: AbortSignal
}

export interface Outcome {
  readonly keeping: Keeping
  readonly seconds: number
  readonly tally: Tally
  readonly accounts: readonly Account[]
  readonly unmatched: number
  /** Of the processes that live. */
  readonly stats: LockStats
  readonly memory: { readonly rssBytes: number; readonly heapBytes: number }
  readonly connections: number
  readonly misfortunes: Misfortunes
}

/** One load on both services, from an empty order book to the last answer. */
export async function run(options: RunOptions): Promise<Outcome> {
  const { store, db, keeping, thinkMs, leaseMs, signal } = options
  const codes = Array.from({ length: options.commodities }, (_, i) => `SKU-${i + 1}`)
  const database = await openDatabase(db)
  const setup = { locks: store, stock: db, keeping, thinkMs, lease: `${leaseMs}ms`, wait: '10s' }
  const fleet = new Fleet(setup)
  const chaos = new Chaos(fleet, leaseMs * 1.5)
  try {
    // More than can be sold, so that it is the locks that are measured, and not an empty shelf.
    await stockUp(database, codes, 1_000_000)
    await fleet.start(options.instances)
    const traffic = new Traffic({
      instances: () => fleet.healthy,
      codes,
      concurrency: options.concurrency,
      restMs: 0,
      batchPercent: 5,
    })
    const began = performance.now()
    const look = (): Promise<Outcome> => lookAt(options, database, fleet, traffic.tally, chaos, began)
    traffic.start()
    if (options.chaos) chaos.start()
    for (let second = 1; second <= options.seconds && !signal.aborted; second += 1) {
      const rest = Math.max(0, began + second * 1000 - performance.now())
      await sleep(rest, undefined, { signal }).catch(() => undefined)
      if (second < options.seconds) options.onSecond?.(await look())
    }
    await chaos.stop()
    const ended = await look()
    await traffic.stop()
    // What came in after the time is in the books, and must be right as well.
    return { ...ended, accounts: await readBooks(database), unmatched: await countUnmatched(database) }
  } finally {
    await chaos.stop()
    await fleet.stop()
    await database.close()
  }
}

async function lookAt(
  { keeping }: RunOptions,
  database: Database,
  fleet: Fleet,
  tally: Tally,
  { misfortunes }: Chaos,
  began: number,
): Promise<Outcome> {
  const seconds = (performance.now() - began) / 1000
  const seen = { ...tally, byStatus: new Map(tally.byStatus), byService: { ...tally.byService } }
  const usages = (await Promise.all(fleet.serving.map((instance) => instance.usage()))).filter(
    (usage): usage is Usage => usage !== null,
  )
  return {
    keeping,
    seconds,
    tally: { ...seen, latencies: [...tally.latencies] },
    accounts: await readBooks(database),
    unmatched: await countUnmatched(database),
    stats: mergeStats(usages.map(({ stats }) => stats)),
    memory: {
      rssBytes: usages.reduce((sum, { rssBytes }) => sum + rssBytes, 0),
      heapBytes: usages.reduce((sum, { heapBytes }) => sum + heapBytes, 0),
    },
    connections: usages.reduce((sum, { connections }) => sum + connections, 0),
    misfortunes,
  }
}
