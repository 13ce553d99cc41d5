import type { LockStats } from '../../src/index.ts'
import { totalsOf } from './books.ts'
import type { Outcome } from './run.ts'

/** Sold and never taken from the shelf, of all commodities together. */
export function oversold({ accounts }: Outcome): number {
  return accounts.reduce((sum, account) => sum + Math.abs(account.oversold), 0)
}

/** Whether the books are right: nothing oversold, nothing lost, every order in the outbox. */
export function isRight(outcome: Outcome): boolean {
  return oversold(outcome) === 0 && outcome.unmatched === 0
}

function orders({ tally }: Outcome): number {
  return tally.byService.business + tally.byService.storage
}

/** One line for each second. */
export function line(outcome: Outcome): string {
  const { seconds, stats, tally } = outcome
  const parts = [
    `${seconds.toFixed(0)} s`.padStart(5),
    `${orders(outcome)} orders`.padStart(13),
    `${(orders(outcome) / seconds).toFixed(0)}/s`.padStart(7),
    `p95 ${ms(percentile(tally.latencies, 0.95))}`.padStart(12),
    `${conflictsBetween(stats)} conflicts`.padStart(16),
    `${stats.lost} lost`.padStart(8),
    `${oversold(outcome)} oversold`.padStart(13),
  ]
  return parts.join(' ')
}

/** All of it, at the end. */
export function summary(outcome: Outcome): string[] {
  const { tally, stats, memory, misfortunes, accounts } = outcome
  const { business, storage } = tally.byService
  const all = [...tally.byStatus.values()].reduce((sum, count) => sum + count, 0) + tally.unanswered
  const statuses = [...tally.byStatus]
    .sort(([a], [b]) => a - b)
    .map(([status, count]) => `${status}: ${count}`)
  const { stock, sold, due } = totalsOf(accounts)
  return [
    `orders       ${orders(outcome)} in ${outcome.seconds.toFixed(1)} s, ${(orders(outcome) / outcome.seconds).toFixed(0)} per second`,
    `success      ${percent(orders(outcome), all)} of ${all} requests (${statuses.join(', ')}, unanswered: ${tally.unanswered})`,
    `latency      p50 ${ms(percentile(tally.latencies, 0.5))}, p95 ${ms(percentile(tally.latencies, 0.95))}, p99 ${ms(percentile(tally.latencies, 0.99))}`,
    `services     business ${percent(business, business + storage)}, storage ${percent(storage, business + storage)}`,
    `waits        p50 ${ms(stats.wait.p50)}, p95 ${ms(stats.wait.p95)}, p99 ${ms(stats.wait.p99)}; ${conflictsBetween(stats)} conflicts between the services`,
    `leases       ${stats.granted - stats.reentered} granted, ${stats.takenOver} taken over, ${stats.lost} lost, ${stats.timedOut} timed out`,
    `resources    ${mib(memory.rssBytes)} in all processes, ${outcome.connections} connections to the stock`,
    ...(misfortunes.killed + misfortunes.paused > 0
      ? [
          `misfortunes  ${misfortunes.killed} killed, ${misfortunes.paused} paused for longer than their lease`,
        ]
      : []),
    `books        stock ${stock} + sold ${sold} = ${stock + sold}, of ${due}: ${verdict(outcome)}`,
  ]
}

function verdict(outcome: Outcome): string {
  if (isRight(outcome)) return 'right'
  const { unmatched } = outcome
  return `WRONG, ${oversold(outcome)} oversold${unmatched > 0 ? `, ${unmatched} orders and outbox lines without the other` : ''}`
}

/** Of those of one service with the other. */
export function conflictsBetween({ conflicts }: LockStats): number {
  return conflicts.reduce((sum, { waiter, holder, count }) => sum + (waiter === holder ? 0 : count), 0)
}

export function percentile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0
}

function ms(value: number): string {
  return `${value >= 100 ? value.toFixed(0) : value.toFixed(1)} ms`
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '–' : `${((100 * part) / whole).toFixed(1)} %`
}

export function mib(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`
}
