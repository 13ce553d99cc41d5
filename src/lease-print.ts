import { inspect, type InspectOptions } from 'node:util'
import type { Lease } from './lease.ts'

/**
 * What `console.log` prints: what is in its JSON, under the name that it has for those who read it. Of an object that
 * was made from one, such as a proxy, that cannot be read: printing is no place to throw.
 */
export function printAsLease({ prototype }: { readonly prototype: Lease }): void {
  Object.defineProperty(prototype, inspect.custom, {
    value(this: Lease, depth: number, options: InspectOptions): string {
      try {
        return depth < 0 ? '[Lease]' : `Lease ${inspect(this.toJSON(), options)}`
      } catch {
        return '[Lease]'
      }
    },
  })
}
