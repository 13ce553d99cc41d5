import { AsyncLocalStorage } from 'node:async_hooks'
import type { Lease } from './lease.ts'

/** The bodies of `using` that the running code is inside of, innermost first. */
interface Section {
  readonly client: object
  readonly lease: Lease
  readonly outer: Section | undefined
}

const sections = new AsyncLocalStorage<Section | undefined>()

/** Runs `body` so that code inside it, and what it starts, may enter the lease's key again. */
export function runInside<T>(client: object, lease: Lease, body: (lease: Lease) => T): T {
  return sections.run({ client, lease, outer: sections.getStore() }, body, lease)
}

/**
 * Runs foreign code, such as a listener, outside of every section. Core calls it from whatever flow
 * happened to start a timer or a batch, and it must not enter keys by right of that flow.
 */
export function runOutside<T>(run: () => T): T {
  return sections.getStore() ? sections.run(undefined, run) : run()
}

/** The innermost lease on `key` that this code runs inside of, unless its section has ended. */
export function enclosingLease(client: object, key: string): Lease | null {
  for (let section = sections.getStore(); section; section = section.outer) {
    const { lease } = section
    if (section.client === client && lease.key === key && !lease.ended) return lease
  }
  return null
}

/** Foreign code may return a promise although nobody asked for one, and it may reject. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}
