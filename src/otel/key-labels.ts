import { isThenable } from '../thenable.ts'

const MOST_LABELS = 100
const MOST_CHARACTERS = 100

/** What a user's function makes of keys, within bounds: backends pay for every value that an attribute ever had. */
export class KeyLabels {
  readonly #label: (key: string) => unknown
  readonly #known = new Set<string>()

  constructor(label: (key: string) => unknown) {
    this.#label = label
  }

  of(key: string): string {
    const label = this.#call(key)
    if (this.#known.has(label)) return label
    if (this.#known.size >= MOST_LABELS) return 'other'
    this.#known.add(label)
    return label
  }

  #call(key: string): string {
    try {
      const label = this.#label(key)
      if (typeof label === 'string') return label.slice(0, MOST_CHARACTERS)
      if (isThenable(label)) label.then(undefined, () => {})
    } catch {
      // Foreign code: a lock must not break by it.
    }
    return 'error'
  }
}
