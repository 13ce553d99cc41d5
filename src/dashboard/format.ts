/**
 * What is invisible, or turns the text around it, as an escape: control characters, marks of direction, zero
 * widths, line separators, tags. Keys are chosen by whoever may take a lock.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u115f\u1160\u3164\uffa0]/gu

export function visible(text: string): string {
  return text.replace(UNSEEN, (char) => {
    const code = char.codePointAt(0)!.toString(16)
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
  })
}

/** The beginning and the end, which tell most keys apart. */
export function cut(text: string, max: number): string {
  const chars = Array.from(text)
  if (chars.length <= max) return text
  const end = Math.floor(max / 3)
  return `${chars.slice(0, max - end - 1).join('')}…${chars.slice(-end).join('')}`
}

export function shownKey(key: string, max = 120): string {
  return cut(visible(key), max)
}

export interface Units {
  readonly ms: string
  readonly s: string
  readonly min: string
  readonly h: string
  readonly d: string
}

/** Two units at most: `1.2 ms`, `45 s`, `3 min 20 s`, `2 d 4 h`. */
export function duration(ms: number, units: Units): string {
  if (!Number.isFinite(ms)) return '∞'
  if (ms < 1) return `${ms <= 0 ? 0 : Math.max(0.01, Number(ms.toFixed(2)))} ${units.ms}`
  if (ms < 1000) return `${ms < 10 ? Number(ms.toFixed(1)) : Math.round(ms)} ${units.ms}`
  const seconds = ms / 1000
  if (seconds < 9.95) return `${Number(seconds.toFixed(1))} ${units.s}`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} ${units.s}`
  if (whole < 3600) return pair(whole, 60, units.min, units.s)
  const minutes = Math.floor(whole / 60)
  if (minutes < 1440) return pair(minutes, 60, units.h, units.min)
  return pair(Math.floor(minutes / 60), 24, units.d, units.h)
}

function pair(amount: number, size: number, large: string, small: string): string {
  const rest = amount % size
  return `${Math.floor(amount / size)} ${large}${rest > 0 ? ` ${rest} ${small}` : ''}`
}
