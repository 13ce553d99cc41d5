import type { Figure } from './figures.ts'
import type { Samples } from './throughput.ts'

/** One figure over all rounds. */
export interface Row {
  readonly rounds: number
  /** What was measured. */
  readonly title: string
  /** Who did it, or against whom it is measured; empty for holdfast itself. */
  readonly who: string
  readonly unit: string
  readonly ratio: boolean
  readonly atLeast: number | null
  readonly atMost: number | null
  readonly median: number
  readonly low: number
  readonly high: number
  /** Processor time for each, at the median; null if that means nothing here. */
  readonly cpuUs: number | null
  /** Null: there is no target, as for what another library does. */
  readonly met: boolean | null
}

export function summarize(title: string, who: string, figure: Figure, samples: Samples): Omit<Row, 'rounds'> {
  const { name, unit, atLeast = null, atMost = null, ratio = false } = figure
  const values = sorted(samples[name] ?? [])
  const median = middle(values)
  return {
    title,
    who,
    unit,
    ratio,
    atLeast,
    atMost,
    median,
    low: values[0] ?? NaN,
    high: values.at(-1) ?? NaN,
    cpuUs: samples['cpuUs'] ? middle(sorted(samples['cpuUs'])) : null,
    met:
      atLeast === null && atMost === null
        ? null
        : median >= (atLeast ?? -Infinity) && median <= (atMost ?? Infinity),
  }
}

/** Those that say how it compares, before those that say how much it is. */
export function ratiosFirst(rows: readonly Row[]): Row[] {
  return [...rows.filter(({ ratio }) => ratio), ...rows.filter(({ ratio }) => !ratio)]
}

/** The same work done by another. */
export interface Rival {
  readonly name: string
  readonly samples: Samples
}

export function bestOf(rivals: readonly Rival[]): Rival | undefined {
  const rate = ({ samples }: Rival): number => middle(sorted(samples['perSecond'] ?? []))
  return rivals.toSorted((a, b) => rate(b) - rate(a))[0]
}

/** How many times as fast as the other, round by round, since both took turns. */
export function timesTheRate(own: Samples, { samples }: Rival): number[] {
  const rates = samples['perSecond'] ?? []
  return (own['perSecond'] ?? []).map((rate, round) => rate / (rates[round] ?? NaN))
}

export function formatted(value: number): string {
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : 2
  return value.toLocaleString('en', { maximumFractionDigits: digits })
}

export const HEADER: readonly string[] = [
  '',
  '',
  'median',
  'spread',
  'rounds',
  'processor time',
  'target',
  'met',
]

export function cells(row: Row): string[] {
  const { title, who, unit, median, low, high, rounds, cpuUs, met } = row
  const spread = low === high ? '' : `${formatted(low)} … ${formatted(high)}`
  const cpu = cpuUs === null ? '' : `${formatted(cpuUs)} µs each`
  const said = met === null ? '' : met ? 'yes' : 'NO'
  return [title, who, `${formatted(median)} ${unit}`, spread, String(rounds), cpu, targetOf(row), said]
}

function targetOf({ atLeast, atMost }: Row): string {
  if (atLeast !== null) return `≥ ${formatted(atLeast)}`
  return atMost === null ? '' : `≤ ${formatted(atMost)}`
}

function sorted(values: readonly number[]): number[] {
  return [...values].sort((a, b) => a - b)
}

function middle(values: readonly number[]): number {
  const half = (values.length - 1) / 2
  return ((values[Math.floor(half)] ?? NaN) + (values[Math.ceil(half)] ?? NaN)) / 2
}
