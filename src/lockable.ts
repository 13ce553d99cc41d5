import { LockError } from './errors.ts'
import type { FailCause, FallbackStrategy, RetryStrategy } from './fail-strategy.ts'
import { type RetryKeeping, retrying } from './lockable/retrying.ts'
import { checkLockable } from './lockable/terms.ts'
import type { UsingOptions } from './options.ts'

export type AnyFunction = (this: never, ...args: never[]) => unknown

/** The same function under a lock: always asynchronous. `Instead` is what `onFail` may give in its place. */
export type Lockable<F extends AnyFunction, Instead = never> = (
  this: ThisParameterType<F>,
  ...args: Parameters<F>
) => Promise<Awaited<ReturnType<F>> | Instead>

/** Options of `lockable` and of `@locked`, without `onFail`. */
export interface LockableOptions<This, Args extends readonly unknown[]> extends Omit<
  UsingOptions,
  'context' | 'signal'
> {
  /** The key, or several, of one call. Or a template: `'stock:{0.sku}'`, see docs/functions.md. */
  readonly key: string | ((this: This, ...args: Args) => string | readonly string[])
  /** To what `onFail` applies. Default: both. Never to an error of the function itself. */
  readonly on?: readonly FailCause[] | undefined
  /** As of `acquire`, or a function that makes it from the arguments. */
  readonly context?:
    | string
    | number
    | boolean
    | object
    | null
    | undefined
    | ((this: This, ...args: Args) => unknown)
  /** As of `acquire`, or a function that finds it in the arguments. */
  readonly signal?: AbortSignal | ((this: This, ...args: Args) => AbortSignal | undefined) | undefined
}

/** Of a function whose `onFail` is one of the plain ones. */
export type PlainLockableOptions<
  F extends AnyFunction,
  O extends 'throw' | 'null' | RetryStrategy,
> = LockableOptions<ThisParameterType<F>, Parameters<F>> & { readonly onFail?: O | undefined }

/** Of a function with a fallback that gives `R`. */
export type FallbackLockableOptions<F extends AnyFunction, R> = LockableOptions<
  ThisParameterType<F>,
  Parameters<F>
> & { readonly onFail: FallbackStrategy<ThisParameterType<F>, Parameters<F>, R> }

export interface LockableKeeping extends RetryKeeping {
  readonly using: <T>(
    key: string | readonly string[],
    options: UsingOptions | undefined,
    body: () => T | Promise<T>,
  ) => Promise<T>
  /** How long a call without `wait` waits for such a key. */
  readonly waitMs: (key: string | readonly string[]) => number
}

/** A function that holds its lock while it runs, as the body of `using` does. */
export function lockable(keeping: LockableKeeping, fn: AnyFunction, options: unknown): Lockable<AnyFunction> {
  const terms = checkLockable(fn, options)
  const { codes, otherwise, retry } = terms.fail
  const run = fn as (this: unknown, ...args: unknown[]) => unknown
  const locked = async function (this: unknown, ...args: unknown[]): Promise<unknown> {
    const key = terms.key(this, args)
    const usingOptions = terms.options(this, args)
    // A body may lock something else, and fail at that with the same code.
    let entered = false
    const body = (): unknown => {
      entered = true
      return run.apply(this, args)
    }
    const applies = (error: unknown): error is LockError =>
      !entered && error instanceof LockError && codes.includes(error.code)
    try {
      if (!retry) return await keeping.using(key, usingOptions, body)
      return await retrying(keeping, retry, {
        waitMs: terms.waitMs ?? keeping.waitMs(key),
        signal: usingOptions?.signal,
        enter: (wait) => keeping.using(key, { ...usingOptions, wait }, body),
        applies,
      })
    } catch (error) {
      if (otherwise === 'throw' || !applies(error)) throw error
      return otherwise === 'null' ? null : await otherwise.call(this, error, ...args)
    }
  }
  return likeOf(fn, locked)
}

/** Gives a wrapper the name and the length of what it wraps: frameworks and stack traces show them. */
export function likeOf<W extends object>(fn: AnyFunction, wrapper: W): W {
  return Object.defineProperties(wrapper, {
    name: { value: fn.name, configurable: true },
    length: { value: fn.length, configurable: true },
  })
}
