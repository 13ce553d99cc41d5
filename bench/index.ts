/**
 * `npm run bench -- all`: measures the built package and compares it with its targets.
 * `npm run bench -- memory postgres` names groups, `--rounds 3` overrides the number of rounds,
 * `--record` writes docs/benchmarks.md, with the figures as JSON and a chart beside it; what is there of groups that
 * were not measured now stays, with its date.
 * `npm run bench -- curves` measures how the cost grows; with `--record` it writes docs/scaling.md.
 * Exit code 1 if a target is missed.
 */
import { parseArgs } from 'node:util'
import { curves } from './curves/index.ts'
import { type Group, GROUPS, MEASUREMENTS } from './figures.ts'
import { describe } from './machine.ts'
import { measure } from './measure.ts'
import { type Part, record } from './record.ts'
import { withServerFor } from './servers.ts'
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
  const parts: Part[] = []
  for (const group of groupsOf(positionals)) {
    // Each with a load of its own: an hour may lie between the first and the last.
    const notes: string[] = []
    const rows: Row[] = []
    const { date, load } = describe()
    await withServerFor(group, async (server) => {
      if (server !== null) notes.push(`The server is ${server}`)
      for (const measurement of MEASUREMENTS.filter((each) => each.group === group)) {
        console.log(`\n${measurement.title}`)
        const added = await measure(measurement, Number(options.rounds ?? measurement.rounds))
        for (const [, ...rest] of added.map(cells)) console.log(`  ${rest.filter(Boolean).join('  ')}`)
        rows.push(...added)
        if (measurement.note !== undefined) notes.push(measurement.note)
      }
    })
    parts.push({ group, date, load, notes, rows })
  }
  const rows = parts.flatMap((part) => part.rows)
  const notes = parts.flatMap((part) => part.notes)
  console.log(`\n${table([HEADER, ...ratiosFirst(rows).map(cells)])}\n\n${notes.join('\n')}`)
  if (options.record) record(parts, machine)
  return rows.every((row) => row.met !== false)
}

function groupsOf(named: readonly string[]): readonly Group[] {
  if (named.length === 0 || named.join() === 'all') return GROUPS
  const unknown = named.filter((name) => !GROUPS.includes(name as Group))
  const known = ['all', 'curves', ...GROUPS].join(', ')
  if (unknown.length > 0) throw new Error(`no group ${unknown.join(', ')}; there are ${known}`)
  return named as readonly Group[]
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
