import { LockError } from '../errors.ts'

type Path = readonly PropertyKey[]

/**
 * All that is wrong with a configuration, for one error. Values are never shown: any of them may be a password, also
 * one that stands in the wrong place.
 */
export class Problems {
  readonly #lines = new Set<string>()
  readonly #settings = new Set<PropertyKey | undefined>()
  /** Which variable a path was set by. */
  readonly #variables: ReadonlyMap<string, string>

  constructor(variables: ReadonlyMap<string, string>) {
    this.#variables = variables
  }

  add(path: Path, message: string): void {
    this.#settings.add(path[0])
    const name = nameOf(path)
    const where = this.#variables.get(name) ?? name
    // Several rules may say the same of one value.
    this.#lines.add(where === '' ? message : `${where}: ${message}`)
  }

  /** Whether anything is wrong with this setting, or with a part of it. */
  has(setting: string): boolean {
    return this.#settings.has(setting)
  }

  throwIfAny(): void {
    const count = this.#lines.size
    if (count === 0) return
    const some = [...this.#lines].slice(0, MOST_SHOWN)
    if (count > some.length) some.push(`and ${count - some.length} more`)
    throw invalid(count === 1 ? some.join('') : `${count} problems: ${some.join('; ')}`)
  }
}

const MOST_SHOWN = 20

/** `store.url`, `keys["report:*"].lease`. */
export function nameOf(path: Path): string {
  return path
    .map((part, index) => {
      if (typeof part === 'number') return `[${part}]`
      const name = shown(String(part))
      return /^[\w$]+$/.test(name) ? `${index === 0 ? '' : '.'}${name}` : `[${name}]`
    })
    .join('')
}

/**
 * A name as it was written. Not one that looks like more than a name: a line of YAML without its colon may have become
 * one, with a password in it.
 */
export function shown(name: string): string {
  if (!/^[\w$ .:*/#-]{0,60}$/.test(name) || name.includes('://')) return '<a name that is not shown>'
  return /^[\w$]+$/.test(name) ? name : JSON.stringify(name)
}

const PREFIX = 'configuration: '

/** Never with a cause: Node prints it with the error, and what others have thrown may quote an address with a password. */
export function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', `${PREFIX}${message}`)
}

/** The same, with the name of where it was found if it has not got it yet, and with what follows from it. */
export function invalidIn(name: string | null, error: unknown, consequence = ''): LockError {
  const { message } = error instanceof Error ? error : new Error('it cannot be read')
  const bare = message.startsWith(PREFIX) ? message.slice(PREFIX.length) : message
  const where = name === null || bare.startsWith(`${name}: `) ? '' : `${name}: `
  return invalid(`${where}${bare}${consequence}`)
}
