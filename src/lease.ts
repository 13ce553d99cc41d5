// For users whose `lib` has no Symbol.asyncDispose: the declarations of this file bring it along.
/// <reference lib="esnext.disposable" preserve="true" />
import type { Duration } from './duration.ts'

/**
 * What a holder has in hand. It is in force until it is released or lost, whichever comes first; code
 * that must not run after a loss passes `signal` on or calls `assertHeld()` before each effect. No
 * check in this process is enough on its own, since a pause may follow it: send the token along and let
 * the resource refuse older ones.
 *
 * A lease on several keys is in force as long as all of them are.
 */
export interface Lease {
  /** Of several, the first. */
  readonly key: string
  /** Each once, in the order in which they are taken. */
  readonly keys: readonly string[]

  /**
   * Greater than every token given out for this key before. Rises in place with `rotateToken`. A lease on
   * several keys has no such number, and this throws: each key has its own, see `tokenFor`.
   */
  readonly token: bigint

  /** LOCK_NOT_HELD if the lease is not on `key`. */
  tokenFor(key: string): bigint

  /** Whether the lease is in force at this moment, by the local clock and with the margin taken off. */
  readonly held: boolean

  /** Until the local deadline. A renewal moves it. */
  readonly remainingMs: number

  /** Aborts when the lease is lost, before the key can pass to another, and when the client closes. */
  readonly signal: AbortSignal

  /** Throws LOCK_LOST or LOCK_NOT_HELD unless the lease is in force. */
  assertHeld(): void

  /**
   * Renews now, and with an argument makes the lease that long from now on. It never shortens what
   * the store has already promised. Resolves when the store has confirmed it. CLOSED while closing.
   */
  extend(lease?: Duration): Promise<void>

  /**
   * Gives the key back. True if it was ours until then; false if it had been lost: that is no error
   * here. LOCK_RELEASE_FAILED if the store could not be told; it is told again in the background, and
   * the key becomes free with the lease at the latest. A second call is a mistake: LOCK_NOT_HELD.
   */
  release(): Promise<boolean>

  /** Releases the lease if that was not done yet. Never throws: the body's own outcome counts. */
  [Symbol.asyncDispose](): Promise<void>

  /** For `JSON.stringify`, and for logs: the key, the token as text, and how it stands at this moment. */
  toJSON(): LeaseJson
}

/** Tokens as text: JSON has no bigint. */
export type LeaseJson = { readonly held: boolean; readonly remainingMs: number } & (
  | { readonly key: string; readonly token: string }
  | { readonly keys: readonly string[]; readonly tokens: Readonly<Record<string, string>> }
)
