import { setTimeout as sleep } from 'node:timers/promises'
import { readBooks } from './books.ts'
import { type Database, openDatabase } from './database.ts'
import { Fleet } from './fleet.ts'
import { percentile } from './report.ts'
import type { RunOptions } from './run.ts'
import { stockUp } from './schema.ts'
import type { Keeping } from './stock-room.ts'
import { Traffic } from './traffic.ts'

/** The last one is compared with the others. */
const WAYS: readonly Keeping[] = ['none', 'rows', 'locks']
const ROUNDS = 5
/** Of each process, before anything counts: until then it is the compiler that is measured. */
const WARM_ORDERS = 4000
const WARM_LIMIT_MS = 120_000

export interface Turn {
  readonly perSecond: number
  readonly p50: number
  readonly p95: number
  /** Milliseconds of processor time that the processes of both services took for an order. */
  readonly cpuMs: number
  readonly right: boolean
}

type Round = Readonly<Record<Keeping, Turn>>

/**
 * The same load under each way of keeping the stock, in turns: what else the machine does meets all of them. Each way has
 * processes of its own, since what one of them has compiled and switched on would change the next.
 */
export async function compare(options: Omit<RunOptions, 'keeping'>): Promise<readonly Round[]> {
  const { store, db, thinkMs, leaseMs, signal } = options
  const codes = Array.from({ length: options.commodities }, (_, i) => `SKU-${i + 1}`)
  const database = await openDatabase(db)
  const setup = { locks: store, stock: db, thinkMs, lease: `${leaseMs}ms`, wait: '10s' }
  const fleets = WAYS.map((keeping) => new Fleet({ ...setup, keeping }))
  const take = (fleet: Fleet, until: (orders: number, ms: number) => boolean): Promise<Turn> =>
    turn(fleet, database, codes, options.concurrency, (orders, ms) => signal.aborted || until(orders, ms))
  try {
    await stockUp(database, codes, 1)
    for (const fleet of fleets) await fleet.start(options.instances)
    const warm = WARM_ORDERS * 2 * options.instances
    for (const fleet of fleets) await take(fleet, (orders, ms) => orders >= warm || ms >= WARM_LIMIT_MS)
    const rounds: Round[] = []
    for (let round = 0; round < ROUNDS && !signal.aborted; round += 1) {
      const turns: Partial<Record<Keeping, Turn>> = {}
      // No way has always the same one in front of it.
      for (const fleet of round % 2 === 0 ? fleets : fleets.toReversed())
        turns[fleet.keeping] = await take(fleet, (_, ms) => ms >= (1000 * options.seconds) / ROUNDS)
      if (!signal.aborted) rounds.push(turns as Round)
    }
    return rounds
  } finally {
    await Promise.all(fleets.map((fleet) => fleet.stop()))
    await database.close()
  }
}

async function turn(
  fleet: Fleet,
  database: Database,
  codes: readonly string[],
  concurrency: number,
  isOver: (orders: number, ms: number) => boolean,
): Promise<Turn> {
  await stockUp(database, codes, 1_000_000)
  const traffic = new Traffic({
    instances: () => fleet.healthy,
    codes,
    concurrency,
    restMs: 0,
    batchPercent: 5,
  })
  const { tally } = traffic
  const before = await cpuOf(fleet)
  const began = performance.now()
  const orders = (): number => tally.byService.business + tally.byService.storage
  traffic.start()
  while (!isOver(orders(), performance.now() - began)) await sleep(20)
  const perSecond = (1000 * orders()) / (performance.now() - began)
  await traffic.stop()
  // With those that were answered after the time: their work is done as well.
  const cpuMs = ((await cpuOf(fleet)) - before) / Math.max(1, orders())
  const right = (await readBooks(database)).every(({ oversold }) => oversold === 0)
  const [p50, p95] = [percentile(tally.latencies, 0.5), percentile(tally.latencies, 0.95)]
  return { perSecond, p50, p95, cpuMs, right }
}

async function cpuOf(fleet: Fleet): Promise<number> {
  const usages = await Promise.all(fleet.serving.map((instance) => instance.usage()))
  return usages.reduce((sum, usage) => sum + (usage?.cpuMs ?? 0), 0)
}

/** A few lines for people. */
export function shown(rounds: readonly Round[]): string[] {
  if (rounds.length === 0) return ['it was stopped before the first round was over']
  const names = { none: 'with nothing', rows: 'with SELECT … FOR UPDATE', locks: 'with locks' }
  const of = (way: Keeping, what: (turn: Turn) => number): number =>
    median(rounds.map((all) => what(all[way])))
  const shares = (way: Keeping): number[] =>
    rounds.map(({ [way]: other, locks }) => (100 * locks.perSecond) / other.perSecond)
  const more = (way: Keeping): string =>
    median(rounds.map(({ [way]: other, locks }) => locks.cpuMs - other.cpuMs)).toFixed(2)
  const percent = (values: readonly number[]): string =>
    `${median(values).toFixed(0)} % (${values.map((value) => value.toFixed(0)).join(', ')})`
  return [
    ...WAYS.map((way) =>
      [
        names[way].padEnd(25),
        `${of(way, ({ perSecond }) => perSecond).toFixed(0)} orders/s`.padStart(14),
        `p50 ${of(way, ({ p50 }) => p50).toFixed(1)} ms`.padStart(14),
        `p95 ${of(way, ({ p95 }) => p95).toFixed(1)} ms`.padStart(14),
        `${of(way, ({ cpuMs }) => cpuMs).toFixed(2)} ms of processor time per order`.padStart(40),
      ].join(''),
    ),
    `locks: ${percent(shares('rows'))} of the orders of row locks, ${percent(shares('none'))} of those without any`,
    `an order with locks takes ${more('rows')} ms more of the services' processors than with row locks, ` +
      `${more('none')} ms more than without any`,
  ]
}

function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}
