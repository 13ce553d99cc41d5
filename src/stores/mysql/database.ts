import type { Pool } from '../../store.ts'

/**
 * Below core's limit for a call, 3 s by default, so that the caller learns what was in the way: a server that does not
 * answer, or a pool without a free connection. A store does not know that limit: a longer one does not lengthen this.
 */
export const LIMIT_MS = 2500

/** A step, in the words of the server at hand. */
export interface Change {
  /** With `read` null its rows come back, each with what `SESSION` says in front. */
  readonly change: string
  /** What became of it, where a change returns no rows. */
  readonly read: string | null
}

/** What the store asks of a client, whichever driver it belongs to. Settles within `LIMIT_MS`, whatever happens. */
export interface Database {
  /** Statements that return one column of text: those texts. */
  read(sql: string): Promise<readonly string[]>
  /** Committed when it resolves. */
  change(step: Change): Promise<readonly string[]>
  /** Null, or absent, where the driver does not tell. */
  pool?(): Pool | null
  /** Ends what was opened here. */
  close(): Promise<void>
}
