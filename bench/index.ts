/**
 * `npm run bench`: measures the built package and compares it with its targets.
 * `npm run bench -- memory sqlite leases heap` names groups, `--rounds 3` overrides the number of rounds,
 * `--record` measures all and writes docs/benchmarks.md. Exit code 1 if a target is missed.
 */
import { fork } from 'node:child_process'
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Group, GROUPS, type Measurement, MEASUREMENTS, type Scenario } from './figures.ts'
import { record } from './record.ts'
import { cells, compare, HEADER, type Row, summarize } from './summary.ts'
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
const comparisons: string[] = []
const [load = 0] = loadavg()
if (load > 0.5) console.log(`the machine is busy (load ${load.toFixed(1)}): rates will be too low`)
for (const measurement of MEASUREMENTS.filter(({ group }) => wanted.includes(group))) {
  console.log(`\n${measurement.title}`)
  const { own, peer } = await measure(measurement)
  const added = measurement.figures.map((figure) => summarize(measurement.title, figure, own))
  if (measurement.peer) {
    const unit = measurement.figures[0]?.unit ?? ''
    added.push(summarize(`the same with ${measurement.peer.name}`, { name: 'perSecond', unit }, peer))
    comparisons.push(compare(measurement, own, peer))
  }
  for (const row of added) console.log(`  ${cells(row).slice(1).filter(Boolean).join('  ')}`)
  rows.push(...added)
}
console.log(`\n${table([HEADER, ...rows.map(cells)])}\n\n${comparisons.join('\n')}`)
if (options.record) record(rows, comparisons, load)
if (rows.some(({ met }) => met === false)) process.exitCode = 1

/** The peer takes turns with us, so that a busy moment of the machine meets both. */
async function measure({ scenario, peer, rounds }: Measurement): Promise<{ own: Samples; peer: Samples }> {
  const own: Record<string, number[]> = {}
  const others: Record<string, number[]> = {}
  for (let i = 0; i < Number(options.rounds ?? rounds); i += 1) {
    gather(own, await round(scenario))
    if (peer) gather(others, await round(peer.scenario))
  }
  return { own, peer: others }
}

function gather(into: Record<string, number[]>, samples: Samples): void {
  for (const [name, values] of Object.entries(samples)) (into[name] ??= []).push(...values)
}

function round(scenario: Scenario): Promise<Samples> {
  return new Promise((resolve, reject) => {
    const execArgv = [
      '--expose-gc',
      '--disable-warning=ExperimentalWarning',
      '--import',
      import.meta.resolve('tsx'),
    ]
    const child = fork(ROUND, [scenario], { execArgv })
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
