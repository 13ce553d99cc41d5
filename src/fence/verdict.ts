import { describeError, LockError } from '../errors.ts'
import { checkKey } from '../key.ts'
import { checkFlag, checkNames } from '../option-check.ts'
import type { CheckOptions, Token } from './fence.ts'

/** What a signed 64-bit integer holds, and the highest token that a grant number can make. */
export const HIGHEST_TOKEN: bigint = 2n ** 63n - 1n

/** How a guard behaves unless a call says otherwise. */
export interface Manner {
  readonly strict: boolean
  readonly create: boolean
}

/** What a check was asked, in good order. */
export interface Claim {
  readonly resource: string
  readonly token: bigint
  readonly strict: boolean
}

export function claimOf(
  resource: unknown,
  token: unknown,
  options: CheckOptions | undefined,
  strict: boolean,
): Claim {
  if (options !== undefined) checkNames('fence: check', options, ['strict'])
  return {
    resource: checkResource(resource),
    token: checkToken(token as Token),
    strict: checkFlag('fence: strict', options?.strict, strict),
  }
}

/** Whose token a refusal is about. */
const refused = new WeakMap<object, bigint>()

/** Whether the error is a guard's refusal of this very token. A guard that is not ours does not say of which. */
export function isRefusalOf(token: bigint, error: unknown): error is LockError {
  return error instanceof LockError && error.code === 'STALE_TOKEN' && (refused.get(error) ?? token) === token
}

/** Throws STALE_TOKEN unless the claim may write where `seen` is the highest token so far; 0: none. */
export function judge({ resource, token, strict }: Claim, seen: bigint): void {
  if (seen < token || (seen === token && !strict)) return
  const why =
    seen > token
      ? `token ${token} is stale: "${resource}" has seen a higher token, ${seen}; write nothing, and use the newest ` +
        'token of the lease, or take the lock again'
      : `token ${token} is the highest that "${resource}" has seen (${seen}), and strict lets each token pass once`
  const error = new LockError('STALE_TOKEN', why, { key: resource })
  refused.set(error, token)
  throw error
}

/** The same rule as for keys: what is locked and what is guarded often have one name. */
export function checkResource(resource: unknown): string {
  if (typeof resource === 'object' && resource !== null && 'token' in resource) {
    throw new LockError(
      'INVALID_LOCK_KEY',
      'a resource must be a string, not a lease; the resource comes first, then the lease or its token',
    )
  }
  try {
    return checkKey(resource)
  } catch (error) {
    // Our own words come first, whatever the resource is called.
    const message = error instanceof LockError ? error.message : describeError(error)
    throw new LockError(
      'INVALID_LOCK_KEY',
      message.replace('lock key', 'resource').replace('to lock its key pass', 'its key is'),
    )
  }
}

function checkToken(given: Token): bigint {
  const token: unknown = typeof given === 'object' && given !== null ? given.token : given
  if (typeof token !== 'bigint') throw invalid(`give a lease, or its token, a bigint; ${hint(token)}`)
  if (token <= 0n || token > HIGHEST_TOKEN)
    throw invalid(`${token} is no token; tokens are 1 to ${HIGHEST_TOKEN}`)
  return token
}

function hint(token: unknown): string {
  if (typeof token === 'string') return 'a token that came as text is BigInt(text)'
  if (typeof token === 'number')
    return 'a number is not exact enough: carry tokens as text, then BigInt(text)'
  return `this is ${token === null ? 'null' : typeof token}`
}

export function invalid(message: string, cause?: unknown): LockError {
  return new LockError('INVALID_OPTION', `fence: ${message}`, { cause })
}

export function outside(how: string): LockError {
  return invalid(`check: outside of a transaction a check protects nothing: ${how}`)
}
