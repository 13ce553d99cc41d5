import type { ListQuery } from '../../store.ts'
import { bytes, CLOCK, HELD, line } from './expressions.ts'
import { type Names, qualified } from './schema.ts'
import { record } from './steps.ts'

/** Records removed by one statement. It locks no others. */
export const MOST_GONE = 500

/** What only reads, and the clean-up. `hex(key)` comes first. */
export class Statements {
  readonly #table: string

  constructor(names: Names) {
    this.#table = qualified(names)
  }

  list({ key, prefix = '', after = '', limit }: ListQuery): string {
    const conditions = [
      ...(key === undefined ? [] : [`\`key\` = ${bytes(key)}`]),
      ...(prefix === '' ? [] : [`\`key\` >= ${bytes(prefix)} and ${startsWith(prefix)}`]),
      ...(after === '' ? [] : [`\`key\` > ${bytes(after)}`]),
      HELD,
    ]
    return `select ${line('hex(`key`)', ...record(CLOCK, 'wanted'))} from ${this.#table}
where ${conditions.join(' and ')} order by \`key\` limit ${limit}`
  }

  held(keys: readonly string[]): string {
    return `select ${line('hex(`key`)')} from ${this.#table} where \`key\` in (${keys.map(bytes).join(', ')}) and ${HELD}`
  }

  /** The key that many records further on, if there are so many. */
  ahead(after: string, count: number): string {
    return `select ${line('hex(`key`)')} from ${this.#table} where \`key\` > ${bytes(after)}
order by \`key\` limit 1 offset ${count - 1}`
  }

  /**
   * Free for longer than `keep`, after one key and up to another. One ahead of the clock stays: the next number would
   * be lower.
   */
  stale(after: string, upTo: string | null, keepMs: number): string {
    const range = upTo === null ? '' : ` and \`key\` <= ${bytes(upTo)}`
    return `select ${line('hex(`key`)')} from ${this.#table} where \`key\` > ${bytes(after)}${range}
and ${isStale(keepMs)} order by \`key\` limit ${MOST_GONE}`
  }

  remove(keys: readonly string[], keepMs: number): string {
    return `delete from ${this.#table} where \`key\` in (${keys.map(bytes).join(', ')}) and ${isStale(keepMs)}`
  }
}

/** What was given back keeps its end of lease, and is counted from there. */
function isStale(keepMs: number): string {
  const long = `${CLOCK} - ${keepMs * 1000}`
  return `expires_at < ${long} and grant_number < ${long}`
}

function startsWith(prefix: string): string {
  return `left(\`key\`, ${Buffer.byteLength(prefix)}) = ${bytes(prefix)}`
}
