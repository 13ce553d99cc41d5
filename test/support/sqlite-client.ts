import type { Store } from '../../src/store.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'

/** For the child processes of the conformance suite. */
export default function client(path: unknown): Store {
  return sqliteStore(path as string)
}
