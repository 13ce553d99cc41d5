import { Problem } from './problem.ts'

// Breaks the lines of a log.
const CONTROL = /\p{Cc}/u

/** What stands behind the question mark. Unknown names and repeated ones are mistakes, and not to be ignored. */
export class Query {
  readonly #values: URLSearchParams

  constructor({ searchParams }: URL, known: readonly string[]) {
    for (const name of searchParams.keys()) {
      if (!known.includes(name)) {
        throw wrong(`the parameter '${name.slice(0, 40)}' is unknown; known are ${known.join(', ')}`)
      }
      if (searchParams.getAll(name).length > 1) throw wrong(`${name}: give it once`)
    }
    this.#values = searchParams
  }

  text(name: string): string | undefined {
    return this.#values.get(name) ?? undefined
  }

  /** At most `limit` characters, none of them a control character; undefined if empty. */
  line(name: string, limit: number): string | undefined {
    const value = this.text(name)
    if (!value) return undefined
    if (value.length > limit) throw wrong(`${name}: give at most ${limit} characters`)
    if (CONTROL.test(value)) throw wrong(`${name}: remove the control characters`)
    return value
  }

  whole(name: string, { min, max }: { min: number; max: number }): number | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw wrong(`${name}: give a whole number from ${min} to ${max}`)
  }

  flag(name: string): boolean | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    if (text !== 'true' && text !== 'false') throw wrong(`${name}: give true or false`)
    return text === 'true'
  }
}

/** For a route that takes none. */
export function noQuery(url: URL): void {
  if (url.search !== '') throw wrong('there are no parameters here')
}

function wrong(detail: string): Problem {
  return new Problem('INVALID_REQUEST', detail)
}
