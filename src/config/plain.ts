import { invalid, nameOf } from './problems.ts'

/** A configuration has four levels; more are a mistake, a cycle or an attack. */
const MOST_LEVELS = 8
const MOST_VALUES = 20_000

/**
 * A copy as JSON would carry it. What comes from a source is foreign: it may have getters, a prototype, a cycle, or
 * change under our hands.
 */
export function plainCopy(value: unknown): unknown {
  let left = MOST_VALUES
  const copy = (from: unknown, path: readonly PropertyKey[]): unknown => {
    left -= 1
    // Of an array all at once: to go through a sparse one may take a minute.
    const items = Array.isArray(from) ? from.length : 0
    if (left < items) throw new Unfit(`it has more than ${MOST_VALUES} values`)
    // Which YAML can say, and JSON cannot.
    if (from === Infinity) return 'Infinity'
    if (from === null || ['string', 'number', 'boolean'].includes(typeof from)) return from
    if (typeof from !== 'object') throw at(path, `a ${typeof from} cannot stand in a configuration`)
    if (path.length >= MOST_LEVELS) throw at(path.slice(0, 3), 'it is nested too deeply, or in itself')
    if (Array.isArray(from)) return from.map((item: unknown, index) => copy(item, [...path, index]))
    const prototype: unknown = Object.getPrototypeOf(from)
    if (prototype !== null && prototype !== Object.prototype) throw at(path, 'give a plain object')
    const to: Record<string, unknown> = {}
    for (const [name, item] of Object.entries(from)) {
      // It would set the prototype of whatever it is copied into.
      if (name === '__proto__') throw at(path, "the name '__proto__' is not allowed")
      if (item !== undefined) to[name] = copy(item, [...path, name])
    }
    return to
  }
  try {
    return copy(value, [])
  } catch (error) {
    // Else a getter or a proxy has thrown.
    throw invalid(error instanceof Unfit ? error.message : 'it cannot be read')
  }
}

class Unfit extends Error {}

function at(path: readonly PropertyKey[], message: string): Unfit {
  return new Unfit(path.length === 0 ? message : `${nameOf(path)}: ${message}`)
}
