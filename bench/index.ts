/**
 * `npm run bench`: measures the built package and compares it with its targets.
 * `npm run bench -- memory postgres` names groups, `--rounds 3` overrides the number of rounds,
 * `--record` measures all and writes docs/benchmarks.md. Exit code 1 if a target is missed.
 */
import { fork } from 'node:child_process'
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openServer } from '../test/servers/open-server.ts'
import {
  type Contender,
  type Group,
  GROUPS,
  type Measurement,
  MEASUREMENTS,
  type Scenario,
} from './figures.ts'
import { onServer } from './postgres/database.ts'
import { record } from './record.ts'
import { bestOf, cells, HEADER, type Rival, type Row, summarize, timesTheRate } from './summary.ts'
import type { Samples } from './throughput.ts'

const ROUND = fileURLToPath(new URL('./round.ts', import.meta.url))

const { values: options, positionals } = parseArgs({
  options: { record: { type: 'boolean', default: false }, rounds: { type: 'string' } },
  allowPositionals: true,
})
const unknown = positionals.filter((name) => !GROUPS.includes(name as Group))
if (unknown.length > 0) throw new Error(`no group ${unknown.join(', ')}; there are ${GROUPS.join(', ')}`)
if (options.record && positionals.length > 0) throw new Error('--record measures all groups; name none')
const wanted = positionals.length > 0 ? positionals : GROUPS

const rows: Row[] = []
const notes: string[] = []
const [load = 0] = loadavg()
if (load > 0.5) console.log(`the machine is busy (load ${load.toFixed(1)}): rates will be too low`)
const measurements = MEASUREMENTS.filter(({ group }) => wanted.includes(group))
// Started here, once, and found by every round.
const server = measurements.some(({ group }) => group.startsWith('postgres'))
  ? await openServer('postgres')
  : undefined
try {
  if (server) {
    process.env['HOLDFAST_POSTGRES_URL'] = server.url
    notes.push(`The server is PostgreSQL ${await versionOf(server.url)}`)
  }
  for (const measurement of measurements) {
    console.log(`\n${measurement.title}`)
    const added = conclude(measurement, ...(await measure(measurement)))
    for (const [title, ...rest] of added.map(cells)) {
      const named = title === measurement.title ? rest : [title, ...rest]
      console.log(`  ${named.filter(Boolean).join('  ')}`)
    }
    rows.push(...added)
  }
} finally {
  await server?.stop()
}
console.log(`\n${table([HEADER, ...rows.map(cells)])}\n\n${notes.join('\n')}`)
if (options.record) record(rows, notes, load)
if (rows.some(({ met }) => met === false)) process.exitCode = 1

function conclude(measurement: Measurement, own: Samples, rivals: readonly Rival[]): Row[] {
  const { title, figures, timesBest, note } = measurement
  const perSecond = { name: 'perSecond', unit: figures[0]?.unit ?? '' }
  const added = figures.map((figure) => summarize(title, figure, own))
  for (const { name, samples } of rivals) {
    added.push(summarize(`the same with ${name}`, perSecond, samples))
  }
  const best = bestOf(rivals)
  if (best && timesBest !== undefined) {
    const times = { times: timesTheRate(own, best) }
    const unit = 'times its rate'
    added.push(summarize(`against ${best.name}`, { name: 'times', unit, atLeast: timesBest }, times))
  } else if (best) {
    const { median } = summarize('', { name: 'times', unit: '' }, { times: timesTheRate(own, best) })
    notes.push(`${title}: ${median.toFixed(2)} times the rate of ${best.name}`)
  }
  if (note !== undefined) notes.push(note)
  return added
}

async function versionOf(url: string): Promise<string> {
  const { rows: found } = await onServer(url, (client) => client.query('show server_version'))
  return String((found[0] as Record<string, unknown>)['server_version'])
}

/** The peers take turns with us, so that a busy moment of the machine meets all. */
async function measure({ scenario, peers = [], rounds }: Measurement): Promise<[Samples, Rival[]]> {
  const own: Record<string, number[]> = {}
  const rivals = peers.map((peer) => ({ ...peer, samples: {} as Record<string, number[]> }))
  for (let i = 0; i < Number(options.rounds ?? rounds); i += 1) {
    gather(own, await round(scenario))
    for (const { scenario: theirs, contender, samples } of rivals)
      gather(samples, await round(theirs, contender))
  }
  return [own, rivals]
}

function gather(into: Record<string, number[]>, samples: Samples): void {
  for (const [name, values] of Object.entries(samples)) (into[name] ??= []).push(...values)
}

function round(scenario: Scenario, contender: Contender = { kind: 'holdfast' }): Promise<Samples> {
  return new Promise((resolve, reject) => {
    const execArgv = [
      '--expose-gc',
      '--disable-warning=ExperimentalWarning',
      '--import',
      import.meta.resolve('tsx'),
    ]
    const child = fork(ROUND, [scenario, JSON.stringify(contender)], { execArgv })
    let samples: Samples | undefined
    child.on('message', (message: Samples) => (samples = message))
    child.on('error', reject)
    child.on('exit', (code) => {
      if (samples && code === 0) resolve(samples)
      else reject(new Error(`${scenario} ended with ${String(code)}`))
    })
  })
}

function table(lines: readonly (readonly string[])[]): string {
  const widths = HEADER.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
