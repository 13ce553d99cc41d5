import type { Alert } from '../alerts/alert.ts'
import type { HistogramSnapshot } from '../monitor/histogram.ts'
import type { LockStats } from '../monitor/stats.ts'
import type { StatsJson } from '../server/wire.ts'
import type { Terminal } from './command.ts'
import { type Column, table } from './table.ts'
import { milliseconds, painted, period, shown } from './text.ts'

const MOST_BUSY = 10

/** The numbers of one process, for people. */
export function statsLines(
  { stats, client, store, alerts, server }: StatsJson,
  terminal: Terminal,
): string[] {
  const { service, instance } = client
  const answers = store.ok
    ? `answers within ${milliseconds(store.latencyMs ?? 0)}`
    : painted(`does not answer: ${shown(store.error ?? '')}`, 'red', terminal.colour)
  const { pool } = stats
  const lines = [
    `process    ${shown(service)} ${shown(instance)}, holdfast ${shown(server.version)}, serving for ${period(server.upMs)}`,
    `store      ${shown(client.store)} ${answers}`,
    `now        ${stats.held} held, ${stats.waiting} waiting`,
    `requests   ${outcomes(stats)}`,
    `grants     ${stats.handedOff} handed on, ${stats.reentered} re-entered, ${stats.takenOver} taken over`,
    `ends       ${stats.released} released, ${stats.lost} lost, ${stats.evicted} freed by force`,
    `renewals   ${stats.renewals}, ${stats.renewalFailures} failed`,
    `calls      ${stats.storeCalls} to the store, ${stats.storeFailures} failed`,
  ]
  if (pool) lines.push(`pool       ${pool.open} open, ${pool.idle} idle, ${pool.waiting} waiting`)
  lines.push('', ...table(times(stats), TIMES, terminal))
  const busiest = stats.busiest.slice(0, MOST_BUSY)
  if (busiest.length > 0) lines.push('', ...table(busiest, BUSIEST, terminal))
  if (stats.conflicts.length > 0) lines.push('', ...table(stats.conflicts, CONFLICTS, terminal))
  return [...lines, '', ...alertLines(alerts, terminal)]
}

function outcomes({ requests, granted, timedOut, aborted, failed }: LockStats): string {
  return `${requests}: ${granted} granted, ${timedOut} timed out, ${aborted} aborted, ${failed} failed`
}

interface Times {
  readonly name: string
  readonly of: HistogramSnapshot
}

function times({ wait, hold, storeLatency }: LockStats): readonly Times[] {
  return [
    { name: 'wait', of: wait },
    { name: 'hold', of: hold },
    { name: 'store call', of: storeLatency },
  ]
}

const TIMES: readonly Column<Times>[] = [
  { title: 'TIME', cell: ({ name }) => name },
  { title: 'COUNT', cell: ({ of }) => String(of.count), right: true },
  { title: 'P50', cell: ({ of }) => milliseconds(of.p50), right: true },
  { title: 'P95', cell: ({ of }) => milliseconds(of.p95), right: true },
  { title: 'P99', cell: ({ of }) => milliseconds(of.p99), right: true },
  { title: 'MOST', cell: ({ of }) => milliseconds(of.maxMs), right: true },
]

const BUSIEST: readonly Column<LockStats['busiest'][number]>[] = [
  { title: 'BUSIEST KEY', cell: ({ key }) => key, least: 10 },
  { title: 'REQUESTS', cell: ({ requests }) => String(requests), right: true },
  { title: 'CONFLICTS', cell: ({ conflicts }) => String(conflicts), right: true },
  { title: 'WAITED', cell: ({ waitedMs }) => period(waitedMs), right: true },
]

const CONFLICTS: readonly Column<LockStats['conflicts'][number]>[] = [
  { title: 'WAITED', cell: ({ waiter }) => waiter, least: 6 },
  { title: 'FOR', cell: ({ holder }) => holder, least: 6 },
  { title: 'TIMES', cell: ({ count }) => String(count), right: true },
]

function alertLines(alerts: readonly Alert[], { colour }: Terminal): string[] {
  if (alerts.length === 0) return ['no alert is on']
  return alerts.map(({ kind, message, lastedMs }) => {
    const line = `${shown(kind)}: ${shown(message)} (for ${period(lastedMs)})`
    return painted(line, 'yellow', colour)
  })
}
