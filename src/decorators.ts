import { LockError } from './errors.ts'
import type { FallbackStrategy, RetryStrategy } from './fail-strategy.ts'
import { likeOf, type LockableOptions } from './lockable.ts'
import { checkLockable } from './lockable/terms.ts'
import type { Locks } from './locks.ts'
import { isThenable } from './thenable.ts'

/** A decorator cannot change the type of its method, and a locked one is always asynchronous. */
export type AsyncMethod = (this: never, ...args: never[]) => Promise<unknown>

/** What `onFail` may be depends on the method: it must be declared to give what `onFail` gives. */
export type LockedOptions<This, Method extends AsyncMethod> = LockableOptions<This, Parameters<Method>> & {
  readonly onFail?:
    | 'throw'
    | RetryStrategy
    | FallbackStrategy<This, Parameters<Method>, ResultOf<Method> | Promise<ResultOf<Method>>>
    | (null extends ResultOf<Method> ? 'null' : never)
    | undefined
}

type ResultOf<Method extends AsyncMethod> = Awaited<ReturnType<Method>>

/**
 * A standard decorator and one for `experimentalDecorators`. In one signature, not two: only so does the compiler
 * infer the method's types for the options, in both modes.
 */
export type LockedDecorator<This, Method extends AsyncMethod> = (
  ...decorated:
    | [method: Method, context: ClassMethodDecoratorContext<This>]
    | [target: This, name: PropertyKey, descriptor: { value?: Method | undefined }]
) => void

/** The client, or how to find it when a method is called. */
export type LocksSource<This> = Locks | ((self: This) => Locks)

/** Runs the method under a lock, each time it is called: `locks.lockable` for methods. */
export function locked<This, Method extends AsyncMethod>(
  locks: LocksSource<This>,
  options: LockedOptions<This, Method>,
): LockedDecorator<This, Method> {
  if (typeof locks !== 'function' && !isClient(locks))
    throw invalid('give the client that createLocks made, or a function that finds it: (self) => self.locks')
  // With the place of the mistake in the stack, before there is a method.
  checkLockable(() => {}, options)
  const decorate = (...[target, place, descriptor]: readonly unknown[]): unknown => {
    if (isContext(place)) {
      if (place.kind === 'method') return wrap(target as AsyncMethod, locks, options)
      throw misplaced(place.kind, place.name)
    }
    const { value, ...rest } = (descriptor ?? {}) as PropertyDescriptor
    if (typeof value === 'function') return { ...rest, value: wrap(value as AsyncMethod, locks, options) }
    throw misplaced(legacyKind(place, descriptor), place as Name)
  }
  return decorate as LockedDecorator<This, Method>
}

function wrap<This>(method: AsyncMethod, locks: LocksSource<This>, options: object): unknown {
  const make = (client: Locks): Call => client.lockable(method, options as Options) as Call
  if (typeof locks !== 'function') return make(locks)
  checkLockable(method, options)
  const made = new WeakMap<Locks, Call>()
  return likeOf(method, async function (this: This, ...args: unknown[]): Promise<unknown> {
    const client: unknown = locks(this)
    if (isThenable(client)) {
      // Nobody will wait for it, and it may reject.
      client.then(undefined, () => {})
      throw invalid(`the function that finds the client of "${method.name}" gave a promise; it must know it`)
    }
    if (!isClient(client))
      throw invalid(`the function that finds the client of "${method.name}" gave none; is it set already?`)
    let call = made.get(client)
    if (!call) made.set(client, (call = make(client)))
    return call.apply(this, args)
  })
}

type Name = PropertyKey | undefined
type Options = LockableOptions<unknown, never[]>
type Call = (this: unknown, ...args: unknown[]) => Promise<unknown>

/** By what it can do: another copy of the package may have made it. */
function isClient(value: unknown): value is Locks {
  return typeof (value as Partial<Locks> | null | undefined)?.lockable === 'function'
}

function isContext(value: unknown): value is { readonly kind: string; readonly name?: Name } {
  return typeof (value as { kind?: unknown } | null | undefined)?.kind === 'string'
}

function legacyKind(name: unknown, descriptor: unknown): string {
  if (typeof descriptor === 'number') return 'parameter'
  if (name === undefined) return 'class'
  return descriptor === undefined || 'value' in (descriptor as object) ? 'field' : 'accessor'
}

function misplaced(kind: string, name: Name): LockError {
  const what = name === undefined ? `a ${kind}` : `the ${kind} "${String(name)}"`
  return invalid(`it belongs on an async method, not on ${what}`)
}

function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', `locked: ${message}`)
}
