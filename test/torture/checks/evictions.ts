import type { Entry } from '../history.ts'
import { type Span, touches } from './span.ts'

interface Eviction extends Span {
  /** Null: its outcome is not known. Then it may take effect later, on whoever holds the key by then. */
  readonly grant: number | null
}

/** So long after all faults that were on its way, no server carries out what it was sent. */
const LATE_MS = 10_000

/** The forced releases of a round. */
export class Evictions {
  readonly #byKey = new Map<string, Eviction[]>()
  readonly #begun = new Map<number, number>()

  take({ at, key, number, phase, grant }: Extract<Entry, { is: 'evict' }>): void {
    const evictions = this.#byKey.get(key) ?? []
    this.#byKey.set(key, evictions)
    if (phase === 'begin') {
      this.#begun.set(number, evictions.length)
      evictions.push({ from: at, to: Infinity, grant: null })
      return
    }
    const index = this.#begun.get(number)
    const from = index === undefined ? undefined : evictions[index]?.from
    if (index === undefined || from === undefined)
      throw new Error(`forced release ${number} ends, but never began`)
    evictions[index] = { from, to: at, grant }
  }

  /** To be called once all is known. */
  settle(faults: readonly Span[]): void {
    for (const evictions of this.#byKey.values()) {
      evictions.forEach((eviction, i) => {
        if (eviction.grant !== null) return
        const ends = faults.filter((fault) => touches(fault, eviction)).map(({ to }) => to)
        evictions[i] = { ...eviction, to: Math.max(eviction.to, ...ends) + LATE_MS }
      })
    }
  }

  /** Those that may have ended this grant, if it was in force then. */
  of(key: string, grant: number): Eviction[] {
    return this.on(key).filter((eviction) => eviction.grant === null || eviction.grant === grant)
  }

  /** Those that may have ended any grant of the key. */
  on(key: string): readonly Eviction[] {
    return (this.#byKey.get(key) ?? []).filter(({ grant }) => grant !== 0)
  }
}
