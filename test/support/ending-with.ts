import type { Store } from '../../src/store.ts'

/** The store, whose client ends with it. */
export function endingWith(store: Store, end: () => unknown): Store {
  const close = store.close.bind(store)
  let ended: Promise<void> | undefined
  store.close = () => (ended ??= close().then(async () => void (await end())))
  return store
}
