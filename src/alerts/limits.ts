import { checkDuration, type Duration } from '../duration.ts'
import { checkNames, invalid } from '../option-check.ts'
import type { AlertKind } from './alert.ts'

/** When to raise an alert. Each has a default; `false` switches it off. "Within a minute" is the last one. */
export interface AlertLimits {
  /** A key of this process that is held for that long. Default 5m. */
  readonly heldTooLong?: Duration | false | undefined
  /** A key that someone in this process has waited for for that long. Default 10s. */
  readonly waitedTooLong?: Duration | false | undefined
  /**
   * The share, from 0 to 1, of requests that failed or timed out within a minute, if there were at least so many
   * requests. Default 0.5 of 20. A denied `tryAcquire` counts as timed out.
   */
  readonly failureRate?: FailureRate | false | undefined
  /** Requests that met a holder of another service, within a minute. Default 60. */
  readonly conflicts?: number | false | undefined
  /** No call of the store has succeeded for that long. Default 15s. */
  readonly storeUnreachable?: Duration | false | undefined
  /** Calls have waited for a connection of the driver's pool for that long. Default 10s. */
  readonly poolExhausted?: Duration | false | undefined
  /** Renewals fail, and have not gone well, for that long. Default 15s. */
  readonly renewalsFailing?: Duration | false | undefined
  /** Leases that were lost within a minute. Default 1. */
  readonly lost?: number | false | undefined
  /** How far tokens, which follow the store's clock, may run ahead or fall behind. Default 1m. */
  readonly tokenJump?: Duration | false | undefined
}

export interface FailureRate {
  readonly share?: number | undefined
  readonly least?: number | undefined
}

/** Milliseconds, numbers; null where switched off. */
export interface Limits {
  readonly heldTooLong: number | null
  readonly waitedTooLong: number | null
  readonly failureRate: { readonly share: number; readonly least: number } | null
  readonly conflicts: number | null
  readonly storeUnreachable: number | null
  readonly poolExhausted: number | null
  readonly renewalsFailing: number | null
  readonly lost: number | null
  readonly tokenJump: number | null
}

/** The default, and the least that makes sense: a wait for the store may be as long as its calls. */
const DURATIONS = {
  heldTooLong: [300_000, 1000],
  waitedTooLong: [10_000, 1000],
  storeUnreachable: [15_000, 1000],
  poolExhausted: [10_000, 1000],
  renewalsFailing: [15_000, 1000],
  tokenJump: [60_000, 5000],
} as const
const COUNTS = { conflicts: 60, lost: 1 } as const
const FAILURE_RATE = { share: 0.5, least: 20 }
const MOST = 1_000_000

export const LIMIT_OF: Readonly<Record<AlertKind, keyof Limits>> = {
  'held-too-long': 'heldTooLong',
  'waited-too-long': 'waitedTooLong',
  'failure-rate': 'failureRate',
  conflicts: 'conflicts',
  'store-unreachable': 'storeUnreachable',
  'pool-exhausted': 'poolExhausted',
  'renewals-failing': 'renewalsFailing',
  lost: 'lost',
  'token-jump': 'tokenJump',
}

export function checkLimits(limits: AlertLimits): Limits {
  checkNames('watchLocks: on', limits, Object.values(LIMIT_OF))
  const duration = (name: keyof typeof DURATIONS): number | null => {
    const [otherwise, min] = DURATIONS[name]
    const { [name]: value = otherwise } = limits
    return value === false ? null : checkDuration(value, { name: `watchLocks: on.${name}`, min })
  }
  const count = (name: keyof typeof COUNTS): number | null => {
    const { [name]: value = COUNTS[name] } = limits
    return value === false ? null : checkCount(name, value)
  }
  return {
    heldTooLong: duration('heldTooLong'),
    waitedTooLong: duration('waitedTooLong'),
    failureRate: checkFailureRate(limits.failureRate),
    conflicts: count('conflicts'),
    storeUnreachable: duration('storeUnreachable'),
    poolExhausted: duration('poolExhausted'),
    renewalsFailing: duration('renewalsFailing'),
    lost: count('lost'),
    tokenJump: duration('tokenJump'),
  }
}

function checkFailureRate(given: AlertLimits['failureRate']): Limits['failureRate'] {
  if (given === false) return null
  if (given === undefined) return FAILURE_RATE
  checkNames('watchLocks: on.failureRate', given, ['share', 'least'])
  const { share = FAILURE_RATE.share, least = FAILURE_RATE.least } = given
  if (typeof share !== 'number' || !(share > 0 && share <= 1))
    throw invalid('watchLocks: on.failureRate.share: give a number above 0 and up to 1, such as 0.5')
  return { share, least: checkCount('failureRate.least', least) }
}

function checkCount(name: string, value: unknown): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MOST) return value as number
  throw invalid(`watchLocks: on.${name}: give a whole number from 1 to ${MOST}, or false to switch it off`)
}
