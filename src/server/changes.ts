import type { Feed } from './feed.ts'
import type { History } from './history.ts'
import type { LockJson } from './wire.ts'

/** A lock when it was last looked at. */
export interface Seen {
  readonly lock: LockJson
  /** When its lease runs out, on our own clock. */
  readonly until: number
}

/** So many are followed. */
export const MOST_LOCKS = 20_000
/** Less than this is the way to the store and back, and no renewal. */
const RENEWED_MS = 250
/** A storm of them would push all else out of what can be resumed from. */
const MOST_EVENTS = 20

/** What has become different between two looks, to the feed and to the history. */
export class Changes {
  readonly #feed: Feed
  readonly #history: History
  /** Freed by force since the look began that is under way: it may have read them before. */
  #forced = new Map<string, number>()
  #isFirst = true

  constructor(feed: Feed, history: History) {
    this.#feed = feed
    this.#history = history
  }

  /** A look begins. */
  start(): void {
    this.#forced = new Map()
  }

  forced(key: string, grant: number): void {
    this.#forced.set(key, grant)
    this.#history.ended(key, 'forced')
    this.#feed.publish('locks', { all: false, held: [], freed: [{ key, grant }], renewed: [] })
  }

  /** Gives what is held now. `isAll`: what is not in `found` is not held. */
  between(
    before: ReadonlyMap<string, Seen>,
    found: ReadonlyMap<string, Seen>,
    { isAll, now }: { readonly isAll: boolean; readonly now: number },
  ): ReadonlyMap<string, Seen> {
    const taken: LockJson[] = []
    const changed: LockJson[] = []
    const freed: LockJson[] = []
    const renewed: [string, number][] = []
    const after = new Map<string, Seen>()
    for (const [key, old] of before) {
      if (found.has(key)) continue
      // Not seen, but perhaps only out of sight: its lease is what is left to go by.
      if (isAll || old.until <= now) freed.push(old.lock)
      else after.set(key, old)
    }
    for (const [key, seen] of found) {
      const { lock, until } = seen
      const old = before.get(key)
      if (!old || this.#forced.get(key) === lock.grant) continue
      after.set(key, seen)
      if (old.lock.grant !== lock.grant && old.lock.since !== lock.since) taken.push(lock)
      else if (old.lock.grant !== lock.grant || old.lock.wanted !== lock.wanted) changed.push(lock)
      else if (until > old.until + RENEWED_MS) renewed.push([key, lock.remainingMs])
      // Kept as it was, or many small steps would never make a renewal.
      else after.set(key, { lock, until: old.until })
    }
    for (const [key, seen] of found) {
      if (before.has(key) || this.#forced.get(key) === seen.lock.grant || after.size >= MOST_LOCKS) continue
      after.set(key, seen)
      taken.push(seen.lock)
    }
    this.#remember(before, now, freed, taken)
    this.#tell({ taken, changed, freed, renewed })
    return after
  }

  /** Nobody may have looked for hours: a turn is over with its lease, and before the next one begins. */
  #remember(
    before: ReadonlyMap<string, Seen>,
    now: number,
    freed: readonly LockJson[],
    taken: readonly LockJson[],
  ): void {
    const endOf = (key: string): number => Date.now() + Math.min(0, (before.get(key)?.until ?? now) - now)
    for (const { key } of freed) this.#history.ended(key, 'gone', endOf(key))
    for (const lock of taken) {
      this.#history.ended(lock.key, 'gone', Math.min(endOf(lock.key), lock.since))
      this.#history.began(lock)
    }
  }

  #tell(changes: {
    readonly taken: readonly LockJson[]
    readonly changed: readonly LockJson[]
    readonly freed: readonly LockJson[]
    readonly renewed: readonly (readonly [string, number])[]
  }): void {
    const { taken, changed, freed, renewed } = changes
    // Before the first look nobody knew of anything that could have changed.
    const isFirst = this.#isFirst
    this.#isFirst = false
    if (isFirst || taken.length + changed.length + freed.length + renewed.length === 0) return
    this.#feed.publish('locks', {
      all: false,
      held: [...taken, ...changed],
      freed: freed.map(({ key, grant }) => ({ key, grant })),
      renewed,
    })
    this.#events('freed', freed)
    this.#events('taken', taken)
  }

  #events(name: 'taken' | 'freed', locks: readonly LockJson[]): void {
    const at = Date.now()
    for (const { key, service, instance } of locks.slice(0, MOST_EVENTS)) {
      const text =
        name === 'taken' ? `taken by ${service} ${instance}` : `no longer held by ${service} ${instance}`
      this.#feed.publish('event', { name, at, key, text })
    }
    const rest = locks.length - MOST_EVENTS
    if (rest > 0) this.#feed.publish('event', { name, at, key: null, text: `and ${rest} more keys` })
  }
}
