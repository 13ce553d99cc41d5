import type { Duration } from './duration.ts'

/** Defaults of the keys that fit a pattern. */
export interface KeyDefaults {
  readonly lease?: Duration | undefined
  readonly wait?: Duration | undefined
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
  const [first = '', ...rest] = text.split('*')
  const last = rest.pop()
  return {
    text,
    literals: text.replaceAll('*', '').length,
    settings,
    matches: (key) => {
      if (last === undefined) return key === text
      if (!key.startsWith(first) || !key.endsWith(last)) return false
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
