import { checkFlag, checkNames } from '../option-check.ts'
import type { CheckOptions, Token } from './fence.ts'
import { checkResource, claimOf, judge } from './verdict.ts'

/** A guard for what lives in this process. Nothing of it is asynchronous. */
export interface MemoryFence {
  /**
   * Throws STALE_TOKEN if a higher token has been seen. It protects what happens before the next `await`,
   * since another holder may be let in there: call it right before each change.
   */
  check(resource: string, token: Token, options?: CheckOptions): void

  /** The highest token seen; null if none was. */
  highest(resource: string): bigint | null

  /** Removes what is known of a resource, and says whether there was anything. Any token passes then. */
  forget(resource: string): boolean

  /** Resources known. Each stays until it is forgotten. */
  readonly size: number
}

export function memoryFence(options: CheckOptions = {}): MemoryFence {
  checkNames('memoryFence', options, ['strict'])
  const strict = checkFlag('fence: strict', options.strict, false)
  const seen = new Map<string, bigint>()
  return {
    check(resource, token, options) {
      const claim = claimOf(resource, token, options, strict)
      judge(claim, seen.get(claim.resource) ?? 0n)
      seen.set(claim.resource, claim.token)
    },
    highest: (resource) => seen.get(checkResource(resource)) ?? null,
    forget: (resource) => seen.delete(checkResource(resource)),
    get size() {
      return seen.size
    },
  }
}
