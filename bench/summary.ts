import type { Figure } from './figures.ts'
import type { Samples } from './throughput.ts'

/** One figure over all rounds. */
export interface Row {
  readonly title: string
  readonly unit: string
  readonly target: string
  readonly median: number
  readonly low: number
  readonly high: number
  /** Processor time for each, at the median; null if that means nothing here. */
  readonly cpuUs: number | null
  /** Null: there is no target, as for what another library does. */
  readonly met: boolean | null
}

export function summarize(title: string, figure: Figure, samples: Samples): Row {
  const { name, unit, atLeast = -Infinity, atMost = Infinity } = figure
  const values = sorted(samples[name] ?? [])
  const median = middle(values)
  const target =
    atLeast > -Infinity ? `≥ ${formatted(atLeast)}` : atMost < Infinity ? `≤ ${formatted(atMost)}` : ''
  return {
    title,
    unit,
    target,
    median,
    low: values[0] ?? NaN,
    high: values.at(-1) ?? NaN,
    cpuUs: samples['cpuUs'] ? middle(sorted(samples['cpuUs'])) : null,
    met: target === '' ? null : median >= atLeast && median <= atMost,
  }
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

export const HEADER: readonly string[] = ['', 'median', 'spread', 'processor time', 'target', 'met']

export function cells({ title, unit, target, median, low, high, cpuUs, met }: Row): string[] {
  const spread = low === high ? '' : `${formatted(low)} … ${formatted(high)}`
  const cpu = cpuUs === null ? '' : `${formatted(cpuUs)} µs each`
  return [title, `${formatted(median)} ${unit}`, spread, cpu, target, met === null ? '' : met ? 'yes' : 'NO']
}

function sorted(values: readonly number[]): number[] {
  return [...values].sort((a, b) => a - b)
}

function middle(values: readonly number[]): number {
  const half = (values.length - 1) / 2
  return ((values[Math.floor(half)] ?? NaN) + (values[Math.ceil(half)] ?? NaN)) / 2
}
