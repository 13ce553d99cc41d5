import { checkDuration, type Duration } from './duration.ts'
import { type Environment, systemEnvironment } from './environment.ts'
import { LockError } from './errors.ts'

/** Below this, timers and round trips eat the lease. */
export const MIN_LEASE_MS = 50
export const WAIT_LIMITS: { name: string; min: number; allowInfinity: boolean } = {
  name: 'wait',
  min: 0,
  allowInfinity: true,
}

/** Options that are there, for other calls. */
const HINTS: Readonly<Record<string, string>> = {
  'tryAcquire wait': '; tryAcquire never waits, use acquire',
  'acquire onLost': '; it is for using, release() resolves false',
  'tryAcquire onLost': '; it is for using, release() resolves false',
}

/** An unknown name is most often a typing error that would otherwise be ignored in silence. */
export function checkNames(where: string, options: unknown, allowed: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalid(`${where}: options must be an object`)
  }
  for (const name of Object.keys(options)) {
    if (allowed.includes(name)) continue
    const hint = HINTS[`${where} ${name}`] ?? ''
    throw invalid(
      `${where}: unknown option '${name}'${hint}; known ${allowed.length === 1 ? 'is' : 'are'} ${allowed.join(', ')}`,
    )
  }
}

export function checkFlag(name: string, value: unknown, otherwise: boolean): boolean {
  if (value === undefined) return otherwise
  if (typeof value !== 'boolean') throw invalid(`${name}: give true or false`)
  return value
}

const ENVIRONMENT = ['now', 'setTimer', 'clearTimer', 'defer', 'random', 'newId'] as const

export function checkEnvironment(environment: Environment = systemEnvironment): Environment {
  if (ENVIRONMENT.every((name) => typeof (environment as Environment | null)?.[name] === 'function'))
    return environment
  throw invalid(`environment: give an object with the functions ${ENVIRONMENT.join(', ')}`)
}

/** Most often it is a promise of one, or a store. */
export function checkClient(call: string, locks: unknown): void {
  if (typeof (locks as { attach?: unknown } | null | undefined)?.attach === 'function') return
  throw invalid(
    `${call}: give the client that createLocks returned; what locksFromConfig returns, await first`,
  )
}

export function orElse(
  value: Duration | undefined,
  otherwise: number,
  limits: { name: string; min: number; allowInfinity?: boolean },
): number {
  return value === undefined ? otherwise : checkDuration(value, limits)
}

export function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', message)
}
