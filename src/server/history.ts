import { heldMs } from './records.ts'
import type { LockJson, TurnJson } from './wire.ts'

const MOST_TURNS = 20_000
const MOST_PER_KEY = 20
const FORGOTTEN = 1000

/** The last holders of the keys that came last. Bounded in all, and for each key. */
export class History {
  /** Newest first; the key that has changed last is the last. */
  readonly #turns = new Map<string, TurnJson[]>()
  #count = 0

  get count(): number {
    return this.#count
  }

  /** Newest first. */
  of(key: string): readonly TurnJson[] {
    const turns = this.#turns.get(key) ?? []
    return turns.map((turn) => (turn.end === 'held' ? { ...turn, heldMs: heldMs(turn.since) } : turn))
  }

  began({ key, grant, service, instance, context, since, heldMs }: LockJson): void {
    const turns = this.#turns.get(key) ?? []
    this.#turns.delete(key)
    this.#turns.set(key, turns)
    turns.unshift({ grant, service, instance, context, since, heldMs, end: 'held' })
    this.#count += 1
    if (turns.length > MOST_PER_KEY) {
      turns.pop()
      this.#count -= 1
    }
    if (this.#count > MOST_TURNS) this.#forget()
  }

  /** `at` the latest, as far as is known. */
  ended(key: string, end: 'gone' | 'forced', at: number = Date.now()): void {
    const [last, ...before] = this.#turns.get(key) ?? []
    if (last?.end !== 'held') return
    this.#turns.set(key, [{ ...last, heldMs: heldMs(last.since, at), end }, ...before])
  }

  /** Some at a time: a Map is slow to find its first entry once many before it are gone. */
  #forget(): void {
    for (const [key, turns] of this.#turns) {
      this.#turns.delete(key)
      this.#count -= turns.length
      if (this.#count <= MOST_TURNS - FORGOTTEN) return
    }
  }
}
