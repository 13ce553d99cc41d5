/** Controls, invisible characters, those that turn the direction of a line, halves of a pair. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/**
 * A text as it may be shown on one line of a terminal. Keys, names and contexts come from other people's programs, and
 * an escape sequence in one could draw what is not there.
 */
export function shown(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const named = NAMED[character]
    if (named !== undefined) return named
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
  })
}

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\u{1b}': '\\e' }

/** JSON that is as safe to show. */
export function json(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE, (character) =>
    // By unit: JSON knows no longer escapes.
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u

function widthOf(character: string): number {
  if (character < '\u0300') return 1
  if (/\p{M}/u.test(character)) return 0
  return WIDE.test(character) ? 2 : 1
}

/** How many columns of a terminal it takes. */
export function width(text: string): number {
  let sum = 0
  for (const character of text) sum += widthOf(character)
  return sum
}

/** Cut to that many columns, with an ellipsis for what is gone. */
export function cut(text: string, columns: number): string {
  if (text.length <= columns / 2 || width(text) <= columns) return text
  let result = ''
  let left = columns - 1
  for (const character of text) {
    left -= widthOf(character)
    if (left < 0) break
    result += character
  }
  return columns > 0 ? `${result}…` : ''
}

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** `0.4s`, `12s`, `3m 05s`, `2h 10m`, `4d 03h`. */
export function period(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 9.95) return `${seconds.toFixed(1)}s`
  const whole = Math.round(seconds)
  if (whole < MINUTE) return `${whole}s`
  if (whole < HOUR) return two(whole, MINUTE, 'm', 1, 's')
  return whole < DAY ? two(whole, HOUR, 'h', MINUTE, 'm') : two(whole, DAY, 'd', HOUR, 'h')
}

function two(seconds: number, unit: number, name: string, lesser: number, lesserName: string): string {
  const rest = Math.floor((seconds % unit) / lesser)
  return `${Math.floor(seconds / unit)}${name} ${String(rest).padStart(2, '0')}${lesserName}`
}

/** A time that was measured. */
export function milliseconds(ms: number): string {
  return `${ms.toFixed(ms < 10 ? 2 : ms < 100 ? 1 : 0)} ms`
}

export type Colour = 'bold' | 'red' | 'green' | 'yellow'
const CODES: Record<Colour, number> = { bold: 1, red: 31, green: 32, yellow: 33 }

export function painted(text: string, colour: Colour, wanted: boolean): string {
  return wanted ? `\u{1b}[${CODES[colour]}m${text}\u{1b}[0m` : text
}
