/** A seeded source of randomness (sfc32). The same seed and name give the same numbers, for ever. */
export class Random {
  #a: number
  #b: number
  #c: number
  #counter = 1

  /** Streams of one seed that have different names are independent of each other. */
  constructor(seed: number, name = '') {
    this.#a = seed >>> 0
    this.#b = Math.floor(seed / 2 ** 32) >>> 0
    this.#c = hashOf(name)
    for (let i = 0; i < 12; i++) this.next()
  }

  /** Uniform in [0, 1). */
  next(): number {
    const sum = (this.#a + this.#b + this.#counter++) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum
    return (sum >>> 0) / 2 ** 32
  }

  chance(probability: number): boolean {
    return probability > 0 && this.next() < probability
  }

  /** Uniform between two bounds. */
  between(low: number, high: number): number {
    return low + this.next() * (high - low)
  }

  /** A whole number from low to high, both included. */
  integer(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.next() * items.length)] as T
  }

  /** Picks by weight; the weights need not add up to anything. */
  weighted<T>(choices: readonly (readonly [weight: number, item: T])[]): T {
    let left = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, item] of choices) {
      left -= weight
      if (left < 0) return item
    }
    return choices.at(-1)?.[1] as T
  }

  id(): string {
    const part = (): string => Math.floor(this.next() * 2 ** 32).toString(36)
    return `${part()}-${part()}`
  }
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash | 0
}
