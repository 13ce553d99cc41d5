import { LockError } from '../errors.ts'
import type { Pool } from '../store.ts'
import { type BusyKey, MAX_SHOWN } from './busy-keys.ts'
import type { Conflict } from './conflicts.ts'
import type { HistogramSnapshot } from './histogram.ts'
import type { SizesSnapshot } from './sizes.ts'
import { percentiles } from './percentiles.ts'
import { type Counters, type LockStats, Stats } from './stats.ts'
import type { StepStats } from './steps.ts'

/**
 * The numbers of several clients as if they were one: what a fleet does, from what each of its processes counts.
 * Percentiles are taken anew from the buckets, never averaged.
 */
export function mergeStats(all: readonly LockStats[]): LockStats {
  if (!Array.isArray(all) || !all.every((stats: Partial<LockStats> | null) => stats?.steps && stats.wait))
    throw new LockError('INVALID_OPTION', 'mergeStats: give a list of what stats() has returned')
  const counters = Object.keys(new Stats('').counters) as (keyof Counters)[]
  const sums = Object.fromEntries(counters.map((name) => [name, sum(all, (stats) => stats[name])]))
  const step = (name: keyof LockStats['steps']): StepStats => mergeSteps(all.map(({ steps }) => steps[name]))
  return {
    ...(sums as unknown as Counters),
    held: sum(all, ({ held }) => held),
    waiting: sum(all, ({ waiting }) => waiting),
    wait: mergeTimes(all.map(({ wait }) => wait)),
    hold: mergeTimes(all.map(({ hold }) => hold)),
    storeLatency: mergeTimes(all.map(({ storeLatency }) => storeLatency)),
    steps: { acquire: step('acquire'), renew: step('renew'), release: step('release') },
    busiest: mergeBusiest(all.flatMap(({ busiest }) => busiest)),
    conflicts: mergeConflicts(all.flatMap(({ conflicts }) => conflicts)),
    pool: mergePools(all.map(({ pool }) => pool)),
  }
}

function mergeSteps(all: readonly StepStats[]): StepStats {
  return {
    calls: sum(all, ({ calls }) => calls),
    keys: sum(all, ({ keys }) => keys),
    failures: sum(all, ({ failures }) => failures),
    sizes: mergeSizes(all.map(({ sizes }) => sizes)),
    latency: mergeTimes(all.map(({ latency }) => latency)),
  }
}

function mergeTimes(all: readonly HistogramSnapshot[]): HistogramSnapshot {
  const count = sum(all, (each) => each.count)
  const maxMs = Math.max(0, ...all.map((each) => each.maxMs))
  const buckets = mergeBuckets(
    all.flatMap((each) => each.buckets.map((b) => ({ le: b.leMs, count: b.count }))),
  )
  return {
    count,
    sumMs: sum(all, ({ sumMs }) => sumMs),
    maxMs,
    ...percentiles(buckets, ({ le }) => le, maxMs),
    buckets: buckets.map(({ le, count }) => ({ leMs: le, count })),
  }
}

function mergeSizes(all: readonly SizesSnapshot[]): SizesSnapshot {
  const max = Math.max(0, ...all.map((each) => each.max))
  const buckets = mergeBuckets(all.flatMap((each) => each.buckets))
  return {
    count: sum(all, ({ count }) => count),
    sum: sum(all, (each) => each.sum),
    max,
    ...percentiles(buckets, ({ le }) => le, max),
    buckets,
  }
}

interface Bucket {
  readonly le: number
  readonly count: number
}

function mergeBuckets(all: readonly Bucket[]): Bucket[] {
  const counts = new Map<number, number>()
  for (const { le, count } of all) {
    // From another process they come as JSON, where the bucket above all bounds has none.
    const bound = (le as number | null) ?? Infinity
    counts.set(bound, (counts.get(bound) ?? 0) + count)
  }
  return Array.from(counts, ([le, count]) => ({ le, count })).sort((a, b) => a.le - b.le)
}

/** A key that one client did not show may have been asked for there as well: these are at least as busy as told. */
function mergeBusiest(all: readonly BusyKey[]): BusyKey[] {
  const byKey = new Map<string, BusyKey>()
  for (const each of all) {
    const before = byKey.get(each.key)
    byKey.set(each.key, {
      key: each.key,
      requests: each.requests + (before?.requests ?? 0),
      overcount: each.overcount + (before?.overcount ?? 0),
      conflicts: each.conflicts + (before?.conflicts ?? 0),
      waitedMs: each.waitedMs + (before?.waitedMs ?? 0),
    })
  }
  return [...byKey.values()].sort((a, b) => b.requests - a.requests).slice(0, MAX_SHOWN)
}

function mergeConflicts(all: readonly Conflict[]): Conflict[] {
  const byPair = new Map<string, Conflict>()
  for (const { waiter, holder, count } of all) {
    const pair = JSON.stringify([waiter, holder])
    byPair.set(pair, { waiter, holder, count: count + (byPair.get(pair)?.count ?? 0) })
  }
  return [...byPair.values()].sort((a, b) => b.count - a.count)
}

function mergePools(all: readonly (Pool | null)[]): Pool | null {
  const pools = all.filter((pool) => pool !== null)
  if (pools.length === 0) return null
  return {
    open: sum(pools, ({ open }) => open),
    idle: sum(pools, ({ idle }) => idle),
    waiting: sum(pools, ({ waiting }) => waiting),
  }
}

function sum<T>(all: readonly T[], of: (each: T) => number): number {
  return all.reduce((total, each) => total + of(each), 0)
}
