import { LockError } from '../../errors.ts'
import { checkNames } from '../../option-check.ts'
import { checkStore } from '../../store-check.ts'
import type { Store } from '../../store.ts'
import { MovingStore } from './store.ts'

export interface MovingStoreOptions {
  /** The store that instances of before the move lock in. */
  readonly from: Store
  /** The store that instances of after the move lock in. */
  readonly to: Store
}

/**
 * For the time of a move from one store to another: locks in both, so that it excludes those that lock in `from` alone
 * and those that lock in `to` alone. Tokens rise over all of them. No instance may lock in `from` alone while another
 * locks in `to` alone: `docs/migrating.md` has the steps.
 *
 * Both stores belong to it: they are opened and closed with it.
 */
export function movingStore(options: MovingStoreOptions): Store {
  checkNames('movingStore', options, ['from', 'to'])
  const from = checkStore(options.from, 'movingStore: from')
  const to = checkStore(options.to, 'movingStore: to')
  if (from === to) {
    throw new LockError('INVALID_OPTION', 'movingStore: from and to are one and the same store')
  }
  return new MovingStore({ from, to })
}
