import { type Bug, mutant } from '../mutant.ts'

/** Two stores as one, see `src/stores/moving`. */
export const MOVING_BUGS: readonly Bug[] = [
  mutant(
    'the number is not above what `from` gave',
    'src/stores/moving/acquire.ts',
    'return to > from ? to : from + 1',
    'return to > from ? to : from',
  ),
  mutant(
    '`from` does not learn the number',
    'src/stores/moving/acquire.ts',
    'const others = await faultsIn((some) => from.renew(some), isNext)',
    'const others: (Fault | undefined)[] = []; void isNext',
  ),
  mutant(
    '`to` does not learn the number',
    'src/stores/moving/acquire.ts',
    'const faults = await faultsIn((some) => to.renew(some), isLower)',
    'const faults: (Fault | undefined)[] = []; void isLower',
  ),
  mutant(
    'a partial grant is undone by its owner',
    'src/stores/moving/acquire.ts',
    'takeBack(from, partial)]',
    'from.release(asks.filter((a) => partial.some((p) => p.key === a.key)))]',
  ),
  mutant(
    'a partial grant is not undone',
    'src/stores/moving/acquire.ts',
    'takeBack(from, partial)]',
    'takeBack(from, [])]',
  ),
  mutant(
    'a late ask takes back what its owner got since',
    'src/stores/moving/acquire.ts',
    '} else if (isGranted(one) && !copies.isFull(owner, one.grant)) {',
    '} else if (isGranted(one)) {',
  ),
  mutant(
    'what a late ask of one who has left gets is taken for what that one had',
    'src/stores/moving/copies.ts',
    'if (asked) asked.full = Infinity',
    'void asked',
  ),
  mutant(
    '`from` is raised before `to`',
    'src/stores/moving/acquire.ts',
    `    const faults = await faultsIn((some) => to.renew(some), isLower)
    const isNext = (index: number): boolean => !faults[index] && (raises[index]?.raiseTo ?? 0) > 0
    const others = await faultsIn((some) => from.renew(some), isNext)`,
    `    const isNext = (index: number): boolean => (raises[index]?.raiseTo ?? 0) > 0
    const others = await faultsIn((some) => from.renew(some), isNext)
    const faults = await faultsIn((some) => to.renew(some), isLower)`,
  ),
  mutant(
    'a store that raises nothing is believed',
    'src/stores/moving/acquire.ts',
    'answer.grant < raiseTo ? notRaised(key) : undefined',
    'undefined',
  ),
  mutant(
    'what was lost while it was taken is granted',
    'src/stores/moving/acquire.ts',
    'if (!answer.renewed) return lostMeanwhile(key)',
    'if (!answer.renewed) return undefined',
  ),
  mutant(
    'a loss in `to` is overlooked',
    'src/stores/moving/renew.ts',
    `for (const answer of [from, to]) if (answer && 'renewed'`,
    `for (const answer of [from]) if (answer && 'renewed'`,
  ),
  mutant(
    'what is left of a lost lock stays',
    'src/stores/moving/renew.ts',
    'await Promise.all([takeBack(from, leftIn(inFrom)), takeBack(to, leftIn(inTo))])',
    'void leftIn',
  ),
  mutant(
    'a rotation gives two numbers',
    'src/stores/moving/renew.ts',
    'if (isFault(answer) || !answer.renewed || answer.from === answer.to) return []',
    'if (isFault(answer) || !answer.renewed || answer.from >= 0) return []',
  ),
  mutant(
    'a lock that `from` had lost counts as released',
    'src/stores/moving/release.ts',
    'released: wasInForce && two.released',
    'released: two.released',
  ),
  mutant(
    'a lock that `to` had lost counts as released',
    'src/stores/moving/release.ts',
    'released: wasInForce && two.released',
    'released: wasInForce',
  ),
  mutant(
    'a silent store keeps the key in the other',
    'src/stores/moving/release.ts',
    'await ended(releaseTo, HOLD_UP_MS)',
    'await releaseTo',
  ),
  mutant(
    'one who waits stays with the store that gave the key',
    'src/stores/moving/watch.ts',
    'if (side === undefined || side === by) return',
    'return',
  ),
  mutant(
    'one who waits listens where the key is free',
    'src/stores/moving/watch.ts',
    `    this.#watches[side].delete(key)
    this.#watches[by].add(key)`,
    `    this.#watches.from.add(key)
    this.#watches.to.add(key)`,
  ),
  mutant(
    'a key in both stores is listed twice',
    'src/stores/moving/listing.ts',
    '=== null ? [lock] : []',
    '=== null ? [lock] : [lock]',
  ),
  mutant(
    'an eviction leaves the key in `to`',
    'src/stores/moving/store.ts',
    'to && isMeant(to) ? await houses.to.evict(key, to.grant) : null',
    'null',
  ),
]
