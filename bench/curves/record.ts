import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { lineChart } from '../chart/line-chart.ts'
import { listed, type Machine } from '../machine.ts'
import { markdown } from '../markdown.ts'
import { formatted } from '../summary.ts'
import { type Curve, CURVES, type Series, type Subject } from './curve.ts'

const DOCS = new URL('../../docs/', import.meta.url)
const JSON_FILE = new URL('scaling.json', DOCS)

const NAMES: Record<Subject, string> = {
  memory: 'memory',
  'memory-roomy': 'memory, more room',
  sqlite: 'SQLite',
  postgres: 'PostgreSQL',
  redis: 'Redis',
  'redis-sentinel': 'Redis Sentinel',
  'redis-cluster': 'Redis Cluster',
  mongo: 'MongoDB',
  mariadb: 'MariaDB',
}

export interface Measured {
  readonly curve: Curve
  readonly series: readonly Series[]
}

interface Recorded {
  readonly machine: Machine
  readonly curves: readonly { readonly name: string; readonly series: readonly Series[] }[]
}

/** Keeps what was measured, and writes the page. */
export function record(measured: readonly Measured[], machine: Machine): void {
  const curves = measured.map(({ curve: { name, title, axis }, series }) => ({ name, title, axis, series }))
  writeFileSync(JSON_FILE, `${JSON.stringify({ machine, curves }, rounded, 1)}\n`)
  writePage()
}

/** The page, and a chart for each curve, from the figures as they were kept: nothing is measured for it. */
export function writePage(): void {
  mkdirSync(new URL('images/', DOCS), { recursive: true })
  for (const { curve, series } of recorded().measured)
    writeFileSync(new URL(imageOf(curve), DOCS), chart(curve, series))
  writeFileSync(new URL('scaling.md', DOCS), page())
  console.log('written to docs/scaling.md')
}

function recorded(): { measured: Measured[]; machine: Machine } {
  const { machine, curves } = JSON.parse(readFileSync(JSON_FILE, 'utf8')) as Recorded
  const measured = CURVES.flatMap((curve) => {
    const found = curves.find(({ name }) => name === curve.name)
    return found ? [{ curve, series: found.series }] : []
  })
  return { measured, machine }
}

export function chart({ title, axis }: Curve, series: readonly Series[]): string {
  const lines = series.map(({ store, points }) => ({
    name: NAMES[store],
    points: points.map(({ x, us }) => ({ x, y: us })),
  }))
  return lineChart(title, axis, 'µs for one lock', lines)
}

export function page(): string {
  const { measured, machine } = recorded()
  return [
    '# How the cost grows',
    '',
    'Written by `npm run bench -- curves --record`; the figures are also in [scaling.json](scaling.json). Each line is',
    'the wall time for one lock, taken and given back. Both axes are logarithmic: what grows in proportion is a slope',
    'of 45°, what does not grow is level. The exponent is that of `cost ~ n^exponent`: 0 for O(1), about 0.1 for O(log n),',
    '1 for O(n). It is the larger of that over the last three points and that of the last step, and agrees up to 0.2, 0.3',
    'and 1.2. Servers are on the same machine and share its cores.',
    '',
    ...listed(machine),
    '',
    ...measured.flatMap(({ curve, series }) => section(curve, series)),
  ].join('\n')
}

function section(curve: Curve, series: readonly Series[]): string[] {
  const xs = curve.xs.map((x) => x.toLocaleString('en'))
  const rows = series.map(({ store, growth, points, exponent, agrees }) => [
    NAMES[store],
    ...curve.xs.map((x) => cost(points.find((point) => point.x === x)?.us)),
    growth,
    exponent.toFixed(2),
    agrees ? 'yes' : 'NO',
  ])
  return [
    `## ${curve.title}`,
    '',
    ...curve.text,
    '',
    ...series.flatMap(({ note }) => (note === undefined ? [] : [note, ''])),
    `![${curve.title}](${imageOf(curve)})`,
    '',
    ...markdown([[`µs for one lock, by ${curve.axis}`, ...xs, 'stated', 'exponent', 'agrees'], ...rows]),
    '',
  ]
}

function imageOf({ name }: Curve): string {
  return `images/scaling-${name}.svg`
}

function cost(us: number | undefined): string {
  return us === undefined ? '' : formatted(us)
}

function rounded(_name: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(4)) : value
}
