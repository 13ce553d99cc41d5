import { percentile } from '../percentile.ts'
import type { Facts, Play } from './trial.ts'

export function values(plays: readonly Play[], name: string): Facts[string][] {
  return plays.map(({ facts }) => facts[name] ?? null)
}

/** The median of a number, or null if most runs had none. */
export function median(plays: readonly Play[], name: string): number | null {
  const numbers = values(plays, name).filter((value) => typeof value === 'number')
  return numbers.length * 2 > plays.length ? percentile(numbers, 50) : null
}

/** What most runs had. */
export function usual(plays: readonly Play[], name: string): Facts[string] {
  const all = values(plays, name)
  const count = (value: Facts[string]): number => all.filter((each) => each === value).length
  return all.toSorted((a, b) => count(b) - count(a))[0] ?? null
}

export function all(plays: readonly Play[], name: string): boolean {
  return values(plays, name).every((value) => value === true)
}

export function ms(value: number | null): string {
  return value === null ? 'never' : `${number(value)} ms`
}

export function number(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

/** "2 of 3 runs", or nothing if it was all of them. */
export function outOf(count: number, total: number): string {
  return count === total ? '' : ` in ${count} of ${total} runs`
}

/** The class and the first line of an error. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : ''
  const message = (error.message.split('\n')[0] ?? '').replace(/trial-[0-9a-f]{8}(-\w+)?/g, 'key')
  return `${error.constructor.name || error.name}: ${code}${message}`.slice(0, 160)
}

export async function settles<T>(
  work: Promise<T>,
  limitMs: number,
): Promise<{ ms: number | null; value?: T; error?: string }> {
  const start = performance.now()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<{ ms: null }>((resolve) => {
    timer = setTimeout(resolve, limitMs, { ms: null })
  })
  const took = (): number => performance.now() - start
  const settled = work.then(
    (value) => ({ ms: took(), value }),
    (error: unknown) => ({ ms: took(), error: errorText(error) }),
  )
  try {
    return await Promise.race([settled, late])
  } finally {
    clearTimeout(timer)
  }
}
