/**
 * `npm run bench -- all`: measures the built package and compares it with its targets.
 * `npm run bench -- memory postgres` names groups, `--rounds 3` overrides the number of rounds,
 * `--record` measures all and writes docs/benchmarks.md, with the figures as JSON and a chart beside it.
 * `npm run bench -- curves` measures how the cost grows; with `--record` it writes docs/scaling.md.
 * Exit code 1 if a target is missed.
 */
import { parseArgs } from 'node:util'
import { curves } from './curves/index.ts'
import { type Group, GROUPS, MEASUREMENTS } from './figures.ts'
import { describe } from './machine.ts'
import { measure } from './measure.ts'
import { record } from './record.ts'
import { withServers } from './servers.ts'
import { cells, HEADER, ratiosFirst, type Row } from './summary.ts'

const { values: options, positionals } = parseArgs({
  options: { record: { type: 'boolean', default: false }, rounds: { type: 'string' } },
  allowPositionals: true,
})
const machine = describe()
if (machine.load > 0.5) console.log(`the machine is busy (load ${machine.load}): rates will be too low`)
const met = positionals.join() === 'curves' ? await curves(options.record, machine) : await bench()
if (!met) process.exitCode = 1

async function bench(): Promise<boolean> {
  const wanted = groupsOf(positionals)
  const rows: Row[] = []
  const notes: string[] = []
  await withServers(wanted, async (servers) => {
    notes.push(...servers.map((name) => `The server is ${name}`))
    for (const measurement of MEASUREMENTS.filter(({ group }) => wanted.includes(group))) {
      console.log(`\n${measurement.title}`)
      const added = await measure(measurement, Number(options.rounds ?? measurement.rounds))
      for (const [, ...rest] of added.map(cells)) console.log(`  ${rest.filter(Boolean).join('  ')}`)
      rows.push(...added)
      if (measurement.note !== undefined) notes.push(measurement.note)
    }
  })
  console.log(`\n${table([HEADER, ...ratiosFirst(rows).map(cells)])}\n\n${notes.join('\n')}`)
  if (options.record) record(rows, notes, machine)
  return rows.every((row) => row.met !== false)
}

function groupsOf(named: readonly string[]): readonly string[] {
  if (named.length === 0 || named.join() === 'all') return GROUPS
  const unknown = named.filter((name) => !GROUPS.includes(name as Group))
  const known = ['all', 'curves', ...GROUPS].join(', ')
  if (unknown.length > 0) throw new Error(`no group ${unknown.join(', ')}; there are ${known}`)
  if (options.record) throw new Error('--record measures all groups; name none')
  return named
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
