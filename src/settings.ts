import { checkDuration, type Duration } from './duration.ts'
import {
  type KeyDefaults,
  type KeyPattern,
  MAX_PATTERN_LENGTH,
  MOST_PATTERNS,
  patternOf,
} from './key-pattern.ts'
import { checkNames, invalid, MIN_LEASE_MS, orElse, WAIT_LIMITS } from './option-check.ts'

/** What `configure` may change while running. Applies to acquisitions from then on. */
export interface Defaults {
  /** How long the store keeps a key for a holder it hears nothing from. Default 30 s. */
  readonly lease?: Duration | undefined
  /** How long `acquire` waits. `0`: one try; `Infinity`: for ever. Default 5 s. */
  readonly wait?: Duration | undefined
  /** How often a waiter asks again by itself. With push, only `max` counts: it bounds a lost message. */
  readonly poll?: { readonly min?: Duration | undefined; readonly max?: Duration | undefined } | undefined
  /**
   * Defaults for keys like `'report:*'`, where `*` stands for any text. Of several patterns that fit, the one with the
   * most other characters counts, and of those the one with the fewest stars. For several keys at once, the longest of what each of them would get.
   */
  readonly keys?: Readonly<Record<string, KeyDefaults>> | undefined
}

/** Defaults, checked and complete. */
export interface Settings {
  readonly leaseMs: number
  readonly waitMs: number
  readonly atLeastMs: number
  readonly pollMinMs: number
  readonly pollMaxMs: number
  /** The most particular first. */
  readonly patterns: readonly KeyPattern[]
}

export const DEFAULTS: Settings = {
  leaseMs: 30_000,
  waitMs: 5_000,
  atLeastMs: 0,
  pollMinMs: 25,
  pollMaxMs: 500,
  patterns: [],
}

const DEFAULT_OPTIONS = ['lease', 'wait', 'poll', 'keys']
const KEY_DEFAULTS = ['lease', 'wait', 'atLeast']

export function checkConfigure(options: Defaults, current: Settings): Settings {
  checkNames('configure', options, DEFAULT_OPTIONS)
  return checkDefaults(options, current)
}

export function checkDefaults(options: Defaults, current: Settings): Settings {
  const { lease, wait, poll, keys } = options
  if (poll !== undefined && (typeof poll !== 'object' || poll === null))
    throw invalid('poll: give { min, max }')
  if (poll !== undefined) checkNames('poll', poll, ['min', 'max'])
  const pollMinMs = orElse(poll?.min, current.pollMinMs, { name: 'poll.min', min: 1 })
  const pollMaxMs = orElse(poll?.max, Math.max(current.pollMaxMs, pollMinMs), { name: 'poll.max', min: 1 })
  if (pollMaxMs < pollMinMs) throw invalid('poll: max must not be smaller than min')
  const leaseMs = orElse(lease, current.leaseMs, { name: 'lease', min: MIN_LEASE_MS })
  const patterns = keys === undefined ? current.patterns : checkPatterns(keys)
  for (const { text, settings } of patterns) {
    if ((settings.atLeastMs ?? 0) > (settings.leaseMs ?? leaseMs))
      throw invalid(`keys['${text}'].atLeast: it must not be longer than the lease`)
  }
  const waitMs = orElse(wait, current.waitMs, WAIT_LIMITS)
  return Object.freeze({ leaseMs, waitMs, atLeastMs: 0, pollMinMs, pollMaxMs, patterns })
}

function checkPatterns(keys: Readonly<Record<string, KeyDefaults>>): KeyPattern[] {
  if (typeof keys !== 'object' || keys === null || Array.isArray(keys))
    throw invalid("keys: give an object such as { 'report:*': { lease: '10m' } }")
  const entries = Object.entries(keys)
  if (entries.length > MOST_PATTERNS)
    throw invalid(`keys: there are ${entries.length} patterns, the limit is ${MOST_PATTERNS}`)
  const patterns = entries.map(([text, defaults]) => {
    const where = `keys['${text.slice(0, 80)}']`
    if (text === '') throw invalid("keys: a pattern must not be empty; '*' is for all keys")
    if (text.length > MAX_PATTERN_LENGTH)
      throw invalid(`${where}: the pattern has ${text.length} characters, the limit is ${MAX_PATTERN_LENGTH}`)
    checkNames(where, defaults, KEY_DEFAULTS)
    const checked = (
      name: 'lease' | 'wait' | 'atLeast',
      limits: { min: number; allowInfinity?: boolean },
    ) => {
      const value = defaults[name]
      return value === undefined
        ? {}
        : { [`${name}Ms`]: checkDuration(value, { ...limits, name: `${where}.${name}` }) }
    }
    return patternOf(text, {
      ...checked('lease', { min: MIN_LEASE_MS }),
      ...checked('wait', WAIT_LIMITS),
      ...checked('atLeast', { min: 0 }),
    })
  })
  const stars = ({ text }: KeyPattern): number => text.split('*').length
  return patterns.sort((a, b) => b.literals - a.literals || stars(a) - stars(b) || (a.text < b.text ? -1 : 1))
}

/** What counts for a key, or for several at once. */
export function settingsFor(keys: string | readonly string[], settings: Settings): Settings {
  if (settings.patterns.length === 0) return settings
  let { leaseMs, waitMs, atLeastMs } = { leaseMs: 0, waitMs: 0, atLeastMs: 0 }
  for (const key of typeof keys === 'string' ? [keys] : keys) {
    const own = { ...settings, ...settings.patterns.find(({ matches }) => matches(key))?.settings }
    leaseMs = Math.max(leaseMs, own.leaseMs)
    waitMs = Math.max(waitMs, own.waitMs)
    atLeastMs = Math.max(atLeastMs, own.atLeastMs)
  }
  return { ...settings, leaseMs, waitMs, atLeastMs }
}
