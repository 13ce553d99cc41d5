import { AsyncLocalStorage } from 'node:async_hooks'
import type { AnyLease } from './bundle.ts'
import { type Enclosing, innermost } from './enclosing.ts'
import type { KeyLease } from './key-lease.ts'
import type { Lease } from './lease.ts'

/** The bodies of `using` that the running code is inside of, innermost first. */
interface Section extends Enclosing<Section> {
  readonly client: object
  readonly lease: AnyLease
}

const sections = new AsyncLocalStorage<Section | undefined>()
/** Where this module was loaded: as a rule in no request. */
const nowhere = AsyncLocalStorage.snapshot()

/** Runs `body` so that code inside it, and what it starts, may enter the lease's key again. */
export function runInside<T>(client: object, lease: AnyLease, body: (lease: Lease) => T): T {
  return sections.run({ client, lease, outer: running() }, body, lease)
}

/**
 * Runs foreign code, such as a listener, outside of every section. Core calls it from whatever flow
 * happened to start a timer or a batch, and it must not enter keys by right of that flow.
 */
export function runOutside<T>(run: () => T): T {
  return sections.getStore() ? sections.run(undefined, run) : run()
}

/**
 * Runs what outlives the call that happened to begin it, such as a timer that all calls share: outside of every context,
 * also those of others. It would keep them, and tell listeners and traces of a request that has long ended.
 */
export function runApart<T>(run: () => T): T {
  return nowhere(run)
}

/** The innermost lease on `key` that this code runs inside of, unless its section has ended. */
export function enclosingLease(client: object, key: string): KeyLease | null {
  for (let section = running(); section; section = section.outer) {
    const lease = section.client === client ? section.lease.partOn(key) : null
    if (lease && !lease.ended) return lease
  }
  return null
}

/** The lease of the innermost `using` that the calling code runs inside of; null outside. It may be lost or
 * released by now. */
export function currentLease(): Lease | null {
  return sections.getStore()?.lease ?? null
}

function running(): Section | undefined {
  return innermost(sections.getStore(), ({ lease }) => lease.ended)
}
