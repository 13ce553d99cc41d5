import { LONGEST_TIMER_MS } from './environment.ts'
import { LockError, show } from './errors.ts'

/** Milliseconds, or a number with a unit: `250ms`, `30s`, `5m`, `1h`. */
export type Duration = number | `${number}ms` | `${number}s` | `${number}m` | `${number}h`

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

export interface DurationLimits {
  /** The option's name, for the message. */
  readonly name: string
  readonly min: number
  readonly allowInfinity?: boolean
  /** What a number without a unit stands for, where that is not milliseconds. */
  readonly bare?: 'seconds'
}

/** Milliseconds, or INVALID_OPTION with what to change. */
export function checkDuration(value: unknown, limits: DurationLimits): number {
  const ms = parse(value)
  if (ms === undefined) {
    throw invalid(
      `${limits.name}: ${show(value)} is not a duration; give ${limits.bare ?? 'milliseconds'} or a number with a unit, ` +
        "such as '250ms', '30s', '5m' or '1h'",
    )
  }
  if (ms === Infinity && limits.allowInfinity) return ms
  if (ms < limits.min) {
    throw invalid(`${limits.name}: ${show(value)} is too short; it must be at least ${limits.min} ms`)
  }
  if (ms > LONGEST_TIMER_MS) {
    throw invalid(
      `${limits.name}: ${show(value)} is too long; the limit is ${LONGEST_TIMER_MS} ms, about 24 days`,
    )
  }
  // Stores count in whole milliseconds.
  return Math.ceil(ms)
}

function parse(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isNaN(value) ? undefined : value
  if (typeof value !== 'string') return undefined
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(value)
  if (!match) return undefined
  return Number(match[1]) * (UNITS[match[2] ?? ''] ?? Number.NaN)
}

function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', message)
}
