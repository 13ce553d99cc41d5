import type { Pool } from '../../store.ts'
import type { Row } from './records.ts'
import type { Statement } from './statements.ts'

/**
 * Below core's limit for a call, 3 s by default, so that the caller learns what was in the way: a server that does not
 * answer, or a pool without a free connection. A store does not know that limit: a longer one does not lengthen this.
 */
export const LIMIT_MS = 2500

/** What the store asks of a client, whichever driver it belongs to. */
export interface Database {
  /** Rows as arrays. Settles within `LIMIT_MS`, whatever the server and the pool do. */
  run(statement: Statement, values: readonly (string | null)[]): Promise<readonly Row[]>
  /** Statements without parameters, in one transaction. */
  script(sql: string): Promise<void>
  /** Null where no connection can be kept for listening. */
  listen(channel: string, ears: Ears): Promise<Listening | null>
  /** Absent where the driver does not tell. */
  pool?(): Pool | null
  /** Ends what was opened here. */
  close(): Promise<void>
}

export interface Ears {
  heard(payload: string): void
  /** The connection is gone. May come more than once. */
  lost(): void
}

export interface Listening {
  close(): Promise<void>
}
