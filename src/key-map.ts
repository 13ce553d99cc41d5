/**
 * A map by lock key for entries that come and go all the time. `Map` does the same, but V8 links each
 * table that a Map outgrows to the next one; once such a table is old, everything it ever held stays
 * alive until a full collection. Under a steady stream of short locks that halved the throughput.
 */
export class KeyMap<V extends object> {
  // Without a prototype every string is a plain name, `__proto__` too.
  readonly #entries: Record<string, V | undefined> = Object.create(null)
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: string): V | undefined {
    return this.#entries[key]
  }

  set(key: string, value: V): void {
    if (this.#entries[key] === undefined) this.#size += 1
    this.#entries[key] = value
  }

  delete(key: string): void {
    if (this.#entries[key] === undefined) return
    this.#size -= 1
    delete this.#entries[key]
  }

  keys(): string[] {
    return Object.keys(this.#entries)
  }

  values(): V[] {
    return Object.values(this.#entries) as V[]
  }
}
