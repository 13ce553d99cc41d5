import type { Locks } from '../locks.ts'
import type { LockRecord } from '../store.ts'
import { parse } from './arguments.ts'
import { withStoreAsIs } from './client.ts'
import type { Command, Terminal } from './command.ts'
import { heldForMs, readRecords, recordJson } from './records.ts'
import { fetchStats } from './remote-stats.ts'
import { statsLines } from './stats-lines.ts'
import { type Column, table } from './table.ts'
import { json, milliseconds, period } from './text.ts'

const MOST_LONGEST = 5

export const statsCommand: Command = {
  name: 'stats',
  summary: 'show numbers of a process, or of the store',
  help: `usage: holdfast stats [--url http://127.0.0.1:7373] [--json]

With --url: the numbers of the process that serves there, by holdfast serve or by holdfast/server:
requests and what became of them, times, the busiest keys, conflicts, the pool, alerts. The token
of that server is taken from HOLDFAST_SERVER_TOKEN.

Without: each process counts for itself, so this is what the store can tell: how many keys are
held and wanted, by which services, which ones longest, and how fast it answers.

  --url URL  where a server is
  --json     one JSON object
`,
  async run(invocation) {
    const { args, terminal, env } = invocation
    const { values } = parse(args, { url: { type: 'string' }, json: { type: 'boolean', default: false } })
    if (values.url !== undefined) {
      const stats = await fetchStats(values.url, env?.['HOLDFAST_SERVER_TOKEN'])
      terminal.out.write(values.json ? `${json(stats)}\n` : `${statsLines(stats, terminal).join('\n')}\n`)
      return 0
    }
    const view = await withStoreAsIs(invocation, lookAt)
    terminal.out.write(
      values.json ? `${json(viewJson(view))}\n` : `${viewLines(view, terminal).join('\n')}\n`,
    )
    return 0
  },
}

interface Service {
  readonly service: string
  held: number
  wanted: number
  longestMs: number
}

/** What a store knows. */
interface View {
  readonly store: string
  readonly latencyMs: number
  readonly held: number
  readonly wanted: number
  readonly services: readonly Service[]
  readonly longest: readonly LockRecord[]
}

async function lookAt(locks: Locks): Promise<View> {
  // The first one opens the connection, and would be measured along.
  const records = await readRecords(locks, undefined)
  const { store, latencyMs, error } = await locks.health()
  if (error) throw error
  const services = new Map<string, Service>()
  for (const record of records) {
    const { service } = record.holder
    const sum = services.get(service) ?? { service, held: 0, wanted: 0, longestMs: 0 }
    services.set(service, sum)
    sum.held += 1
    if (record.wanted) sum.wanted += 1
    sum.longestMs = Math.max(sum.longestMs, heldForMs(record))
  }
  return {
    store,
    latencyMs: latencyMs ?? 0,
    held: records.length,
    wanted: records.filter(({ wanted }) => wanted).length,
    services: [...services.values()].sort((a, b) => b.held - a.held),
    longest: records.toSorted((a, b) => a.since - b.since).slice(0, MOST_LONGEST),
  }
}

function viewJson({ longest, ...rest }: View): object {
  return { ...rest, longest: longest.map(recordJson) }
}

const SERVICES: readonly Column<Service>[] = [
  { title: 'SERVICE', cell: ({ service }) => service, least: 6 },
  { title: 'HELD', cell: ({ held }) => String(held), right: true },
  { title: 'WANTED', cell: ({ wanted }) => String(wanted), right: true },
  { title: 'LONGEST', cell: ({ longestMs }) => period(longestMs), right: true },
]

const LONGEST: readonly Column<LockRecord>[] = [
  { title: 'LONGEST HELD', cell: ({ key }) => key, least: 12 },
  { title: 'SERVICE', cell: ({ holder }) => holder.service, least: 6 },
  { title: 'FOR', cell: (record) => period(heldForMs(record)), right: true },
]

function viewLines(view: View, terminal: Terminal): string[] {
  const { store, latencyMs, held, wanted, services, longest } = view
  const lines = [
    `store      ${store} answers within ${milliseconds(latencyMs)}`,
    `held       ${held}, ${wanted} of them wanted`,
  ]
  if (held > 0)
    lines.push('', ...table(services, SERVICES, terminal), '', ...table(longest, LONGEST, terminal))
  return [...lines, '', 'Waits, conflicts and busy keys are counted by each process: see --url.']
}
