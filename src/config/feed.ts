import type { LockError } from '../errors.ts'

/** A new configuration, not checked yet, or why there is none. */
export type News = { readonly value: unknown } | { readonly error: LockError }

/** Where a configuration comes from, and goes on coming from. */
export interface Feed {
  /** For messages. */
  readonly name: string
  first(): Promise<unknown>
  /** From the first on. `tell` never rejects; the next one waits for it. */
  follow(tell: (news: News) => Promise<void>): void
  /** Nothing is told after this. Takes a bounded time. */
  close(): Promise<void>
}
