import type { Duration } from './duration.ts'
import { MAX_KEY_BYTES } from './key.ts'

/** Each key that is asked for is held against all patterns: the two limits bound what that takes. */
export const MAX_PATTERN_LENGTH: number = MAX_KEY_BYTES
export const MOST_PATTERNS = 1000

/** Defaults of the keys that fit a pattern. */
export interface KeyDefaults {
  /** How long the key stays taken if its holder dies. */
  readonly lease?: Duration | undefined
  /** How long to wait. `0`: one try; `Infinity`: for ever. */
  readonly wait?: Duration | undefined
  /** The shortest hold. At most the lease. */
  readonly atLeast?: Duration | undefined
}

export interface KeyPattern {
  readonly text: string
  readonly matches: (key: string) => boolean
  /** How many characters of it stand for themselves. */
  readonly literals: number
  readonly settings: { readonly leaseMs?: number; readonly waitMs?: number; readonly atLeastMs?: number }
}

/** A `*` stands for any text, none too. There is no other sign. */
export function patternOf(text: string, settings: KeyPattern['settings']): KeyPattern {
  const [first = '', ...rest] = text.split(/\*+/)
  const last = rest.pop()
  const literals = text.replaceAll('*', '').length
  return {
    text,
    literals,
    settings,
    matches: (key) => {
      if (last === undefined) return key === text
      if (key.length < literals || !key.startsWith(first) || !key.endsWith(last)) return false
      // Each as early as it goes. No regular expression: one with several stars can be slow for ever on a long key.
      let at = first.length
      for (const piece of rest) {
        const found = key.indexOf(piece, at)
        if (found < 0) return false
        at = found + piece.length
      }
      return at + last.length <= key.length
    },
  }
}
