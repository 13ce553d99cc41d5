import type { Watch } from '../../store.ts'
import type { Houses } from './batches.ts'

export type Side = 'from' | 'to'

/**
 * Listens for each key where it was denied last. Where it was granted and given back at once, because the other store
 * denied it, the key is free: to listen there would be to hear so again and again.
 */
export class MovingWatch implements Watch {
  readonly #watches: Readonly<Record<Side, Watch>>
  readonly #sides = new Map<string, Side>()
  readonly #ended: () => void

  /** Of stores that both have a watch. */
  constructor(houses: Houses, onFreed: (key: string) => void, ended: () => void) {
    const from = houses.from.watch?.(onFreed) as Watch
    try {
      this.#watches = { from, to: houses.to.watch?.(onFreed) as Watch }
    } catch (error) {
      from.close().catch(() => undefined)
      throw error
    }
    this.#ended = ended
  }

  /** `from` is asked first, and so mostly the one that denied it. If it is free there, the next ask tells. */
  add(key: string): void {
    const side = this.#sides.get(key) ?? 'from'
    this.#sides.set(key, side)
    this.#watches[side].add(key)
  }

  delete(key: string): void {
    const side = this.#sides.get(key)
    this.#sides.delete(key)
    if (side) this.#watches[side].delete(key)
  }

  denied(key: string, by: Side): void {
    const side = this.#sides.get(key)
    if (side === undefined || side === by) return
    this.#sides.set(key, by)
    this.#watches[side].delete(key)
    this.#watches[by].add(key)
  }

  async close(): Promise<void> {
    this.#ended()
    await Promise.all([this.#watches.from.close(), this.#watches.to.close()])
  }
}
