import { LockError } from '../errors.ts'
import { checkFailStrategy, type FailTerms } from '../fail-strategy.ts'
import { checkKeys } from '../key.ts'
import { parseKeyTemplate } from '../key-template.ts'
import { checkNames, invalid } from '../option-check.ts'
import { ACQUIRE_OPTIONS, checkRequest, type UsingOptions } from '../options.ts'
import { isThenable } from '../thenable.ts'
import { DEFAULTS, type Settings } from '../settings.ts'

type Derive<T> = (self: unknown, args: unknown[]) => T
type Derivation = (this: unknown, ...args: unknown[]) => unknown

interface LockableTerms {
  readonly key: Derive<string | readonly string[]>
  /** Undefined: those of the client. */
  readonly options: Derive<UsingOptions | undefined>
  /** Null: that of the client. */
  readonly waitMs: number | null
  readonly fail: FailTerms
}

const LOCKABLE_OPTIONS = ['key', 'onFail', 'on', ...ACQUIRE_OPTIONS, 'onLost']
/** What only the client knows is checked at the call: whether its lease is long enough for `atLeast`. */
const ANY_CLIENT: Settings = { ...DEFAULTS, leaseMs: Infinity }

/** All that can be known before the first call. */
export function checkLockable(fn: unknown, options: unknown): LockableTerms {
  checkFunction(fn)
  checkNames('lockable', options, LOCKABLE_OPTIONS)
  const { key, onFail, on, ...rest } = options as { key: unknown; onFail: unknown; on: unknown }
  const { derived, fixed } = divide(rest)
  const { waitMs } = checkRequest('using', fixed, ANY_CLIENT)
  return {
    key: checkKeySource(key),
    options: optionsFrom(fixed, derived),
    waitMs: fixed.wait === undefined ? null : waitMs,
    fail: checkFailStrategy(onFail, on),
  }
}

function checkFunction(fn: unknown): void {
  if (typeof fn !== 'function') throw invalid('lockable: give a function to run under the lock')
  const kind = Object.prototype.toString.call(fn)
  if (kind.endsWith('GeneratorFunction]')) {
    throw invalid(
      `lockable: "${fn.name}" is a generator, which would run after the lock was given back; ` +
        'take the lock with using inside of it, or collect what it yields in an async function',
    )
  }
  // A method may have that name.
  if (/^class[\s{/](?!\s*\()/.test(Function.prototype.toString.call(fn)))
    throw invalid(`lockable: "${fn.name}" is a class; give a function or a method`)
}

function checkKeySource(key: unknown): LockableTerms['key'] {
  if (typeof key === 'string') return parseKeyTemplate(key)
  if (typeof key !== 'function')
    throw invalid("key: give a template such as 'stock:{0.sku}', or a function of the arguments")
  const derive = key as Derivation
  return (self, args) => {
    const made = derive.apply(self, args)
    return checkKeys(typeof made === 'object' ? refusePromise('key', made) : made)
  }
}

const DERIVABLE = ['context', 'signal'] as const
type Derived = Partial<Record<(typeof DERIVABLE)[number], Derivation>>

function divide(options: object): { derived: Derived; fixed: UsingOptions } {
  const derived: Derived = {}
  const fixed: Record<string, unknown> = { ...options }
  for (const name of DERIVABLE) {
    if (typeof fixed[name] !== 'function') continue
    derived[name] = fixed[name] as Derivation
    delete fixed[name]
  }
  return { derived, fixed }
}

function optionsFrom(fixed: UsingOptions, derived: Derived): LockableTerms['options'] {
  const { context, signal } = derived
  // The client has the request of a call without options ready.
  const always = Object.keys(fixed).length === 0 ? undefined : Object.freeze(fixed)
  if (!context && !signal) return () => always
  return (self, args) => {
    const made: { -readonly [name in keyof UsingOptions]: UsingOptions[name] } = { ...fixed }
    if (context) made.context = refusePromise('context', context.apply(self, args))
    if (signal) made.signal = refusePromise('signal', signal.apply(self, args)) as AbortSignal | undefined
    return made
  }
}

function refusePromise(name: string, value: unknown): unknown {
  if (!isThenable(value)) return value
  // Nobody will wait for it, and it may reject.
  value.then(undefined, () => {})
  const message = `${name}: the function gave a promise; it must give its result at once`
  throw new LockError(name === 'key' ? 'INVALID_LOCK_KEY' : 'INVALID_OPTION', message)
}
