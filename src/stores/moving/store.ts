import type {
  Answer,
  Ask,
  Claim,
  Fault,
  ListQuery,
  LockPage,
  LockRecord,
  Pool,
  ReleaseAnswer,
  Renewal,
  RenewalAnswer,
  Store,
  Watch,
} from '../../store.ts'
import { acquireBoth } from './acquire.ts'
import type { Houses } from './batches.ts'
import { Copies } from './copies.ts'
import { joined, listBoth, recordIn } from './listing.ts'
import { releaseBoth } from './release.ts'
import { renewBoth } from './renew.ts'
import { MovingWatch, type Side } from './watch.ts'

/**
 * Two stores as one. A key is held by who holds it in both.
 *
 * - `from` first, then `to`, by everyone: who has `from` waits for nobody that waits for `from`.
 * - A number is given out when both remember it, or a higher one. So whatever either of them mints later is higher.
 * - What one store granted and the other did not is taken back by its number, not by its owner: the same owner may have
 *   asked again, and the number of what that ask got in both stores has risen above all that came before. Nor by the
 *   number of that: a late ask finds it in `from`, and is a copy that has got nothing itself.
 *
 * `docs/adr/0022-a-move-locks-in-both-stores.md` has the reasons.
 */
export class MovingStore implements Store {
  readonly name = 'moving'
  /** Absent unless both have it: core polls then. */
  readonly watch?: (onFreed: (key: string) => void) => Watch
  readonly #houses: Houses
  readonly #watches = new Set<MovingWatch>()
  readonly #copies = new Copies()
  /** The owners of each release under way. */
  readonly #leaving = new Set<ReadonlySet<string>>()

  constructor(houses: Houses) {
    this.#houses = houses
    if (houses.from.watch && houses.to.watch) this.watch = (onFreed) => this.#watch(onFreed)
  }

  async open(): Promise<void> {
    const { from, to } = this.#houses
    await Promise.all([from.open(), to.open()])
  }

  acquire(asks: readonly Ask[]): Promise<(Answer | Fault)[]> {
    return this.#copies.during(asks, () =>
      acquireBoth(this.#houses, asks, this.#copies, (key, by) => this.#denied(key, by)),
    )
  }

  async renew(renewals: readonly Renewal[]): Promise<(RenewalAnswer | Fault)[]> {
    const answers = await renewBoth(this.#houses, renewals, (owner) => this.#isLeaving(owner))
    renewals.forEach(({ owner }, index) => {
      const answer = answers[index]
      if (answer && 'renewed' in answer && !answer.renewed) this.#copies.left(owner)
    })
    return answers
  }

  async release(claims: readonly Claim[]): Promise<(ReleaseAnswer | Fault)[]> {
    const owners = new Set(claims.map(({ owner }) => owner))
    this.#leaving.add(owners)
    for (const owner of owners) this.#copies.left(owner)
    try {
      return await releaseBoth(this.#houses, claims)
    } finally {
      this.#leaving.delete(owners)
    }
  }

  list(query: ListQuery): Promise<LockPage> {
    return listBoth(this.#houses, query)
  }

  /** Of two at once, one removes the lock: it goes from `to` first, and what is in `from` tells who did. */
  async evict(key: string, grant?: number): Promise<LockRecord | null> {
    const houses = this.#houses
    const [from, to] = await Promise.all([recordIn(houses.from, key), recordIn(houses.to, key)])
    const isMeant = (record: LockRecord): boolean => grant === undefined || record.grant === grant
    if (from && !isMeant(from)) return null
    const inTo = to && isMeant(to) ? await houses.to.evict(key, to.grant) : null
    if (!from) return inTo
    const inFrom = await houses.from.evict(key, from.grant)
    return inFrom && joined(inFrom, inTo)
  }

  /** Of both, as far as they tell. */
  pool(): Pool | null {
    const { from, to } = this.#houses
    const [one, other] = [from.pool?.() ?? null, to.pool?.() ?? null]
    if (!one || !other) return one ?? other
    return {
      open: one.open + other.open,
      idle: one.idle + other.idle,
      waiting: one.waiting + other.waiting,
    }
  }

  async close(): Promise<void> {
    const { from, to } = this.#houses
    const closed = await Promise.allSettled([from.close(), to.close()])
    for (const result of closed) if (result.status === 'rejected') throw result.reason
  }

  #watch(onFreed: (key: string) => void): Watch {
    const watch = new MovingWatch(this.#houses, onFreed, () => this.#watches.delete(watch))
    this.#watches.add(watch)
    return watch
  }

  #denied(key: string, by: Side): void {
    for (const watch of this.#watches) watch.denied(key, by)
  }

  #isLeaving(owner: string): boolean {
    for (const owners of this.#leaving) if (owners.has(owner)) return true
    return false
  }
}
