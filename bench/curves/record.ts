import { mkdirSync, writeFileSync } from 'node:fs'
import { lineChart } from '../chart/line-chart.ts'
import { listed, type Machine } from '../machine.ts'
import { markdown } from '../markdown.ts'
import { formatted } from '../summary.ts'
import type { Curve, Series, Subject } from './curve.ts'

const DOCS = new URL('../../docs/', import.meta.url)

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

/** The page, a chart for each curve, and the figures as JSON. */
export function record(measured: readonly Measured[], machine: Machine): void {
  mkdirSync(new URL('images/', DOCS), { recursive: true })
  for (const { curve, series } of measured) writeFileSync(new URL(imageOf(curve), DOCS), chart(curve, series))
  writeFileSync(new URL('scaling.md', DOCS), page(measured, machine))
  const curves = measured.map(({ curve: { name, title, axis }, series }) => ({ name, title, axis, series }))
  writeFileSync(new URL('scaling.json', DOCS), `${JSON.stringify({ machine, curves }, rounded, 1)}\n`)
  console.log('\nwritten to docs/scaling.md')
}

export function chart({ title, axis }: Curve, series: readonly Series[]): string {
  const lines = series.map(({ store, points }) => ({
    name: NAMES[store],
    points: points.map(({ x, us }) => ({ x, y: us })),
  }))
  return lineChart(title, axis, 'µs for one lock', lines)
}

function page(measured: readonly Measured[], machine: Machine): string {
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
