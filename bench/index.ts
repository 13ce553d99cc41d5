/**
 * `npm run bench -- all`: measures the built package and compares it with its targets.
 * `--record` writes docs/benchmarks.md, with the figures as JSON and a chart beside it; what is there of groups that
 * were not measured now stays, with its date. `npm run bench -- curves` measures how the cost grows, for docs/scaling.md.
 * Exit code 1 if a target is missed.
 */
import { commandLine, count, refuse } from '../scripts/command-line.ts'
import { build } from './build.ts'
import { curves } from './curves/index.ts'
import { writePage as writeCurvesPage } from './curves/record.ts'
import { type Group, GROUPS, MEASUREMENTS } from './figures.ts'
import { describe, type Machine } from './machine.ts'
import { measure } from './measure.ts'
import { type Part, record, writePage } from './record.ts'
import { withServerFor } from './servers.ts'
import { cells, HEADER, ratiosFirst, type Row } from './summary.ts'

const USAGE = `npm run bench -- [groups] [options]
Measures holdfast beside other libraries and plain drivers, on servers of its own: see docs/benchmarks.md. All groups take
more than an hour of a machine that does nothing else.

  groups       all (default), or some of ${GROUPS.slice(0, 6).join(', ')},
               ${GROUPS.slice(6).join(', ')};
               or curves alone: how the cost grows
  --rounds N   for each measurement (default: what it says itself); not for curves
  --record     write docs/benchmarks.md, or docs/scaling.md for curves
  --page       measure nothing: write both pages anew from their figures`

const { values: options, positionals } = commandLine(USAGE, {
  options: {
    record: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    page: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const isCurves = positionals.join() === 'curves'
const rounds = options.rounds === undefined ? null : count(USAGE, '--rounds', options.rounds)
if (isCurves && rounds !== null) refuse(USAGE, '--rounds is not for curves')
if (options.page && positionals.length > 0) refuse(USAGE, '--page writes whole pages: name no groups')
const groups = isCurves ? [] : groupsOf(positionals)
if (options.page) {
  writePage()
  writeCurvesPage()
} else {
  build()
  const machine = describe()
  if (machine.load > 0.5) console.log(`the machine is busy (load ${machine.load}): rates will be too low`)
  const met = isCurves ? await curves(options.record, machine) : await bench(machine)
  if (!met) process.exitCode = 1
}

async function bench(machine: Machine): Promise<boolean> {
  const parts: Part[] = []
  for (const group of groups) {
    // Each with a load of its own: an hour may lie between the first and the last.
    const notes: string[] = []
    const rows: Row[] = []
    const { date, load } = describe()
    await withServerFor(group, async (server) => {
      if (server !== null) notes.push(`The server is ${server}`)
      for (const measurement of MEASUREMENTS.filter((each) => each.group === group)) {
        console.log(`\n${measurement.title}`)
        const added = await measure(measurement, rounds ?? measurement.rounds)
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
  if (named.includes('curves')) refuse(USAGE, 'curves are measured alone: name no groups beside them')
  const unknown = named.filter((name) => name !== 'all' && !GROUPS.includes(name as Group))
  if (unknown.length > 0) refuse(USAGE, `no group ${unknown.join(', ')}`)
  return named.length === 0 || named.includes('all') ? GROUPS : (named as readonly Group[])
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
