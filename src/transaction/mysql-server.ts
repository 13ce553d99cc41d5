import { isGone, numberOf } from '../databases/mysql-errors.ts'
import { type MysqlSession, textOf } from '../databases/mysql-session.ts'
import { dialectOf } from '../databases/mysql-version.ts'
import type { Terms } from './session.ts'

/** Goes as soon as the transaction does, whatever ended it: also a statement that commits by the way, as DDL does. */
export const MARK = 'holdfast_inside'

/** First of several statements that begin a transaction, which would commit one that is open. */
export const REFUSE_INSIDE: string =
  "if @@in_transaction then signal sqlstate '45000' set mysql_errno = 31313, message_text = 'a transaction is open'; end if"
/** Free for programs, as all from 30000 on that no server uses. */
const INSIDE = 31_313

/** How the server of a connection is told to end a transaction whose process is frozen or out of reach. */
export interface Limits {
  /** Remembers what the user has set, and sets what is shorter. */
  readonly set: string
  readonly reset: string
  /** For a pause between two statements. */
  readonly pauseMs: number
}

/** What is known of a server. */
export interface Server {
  readonly mariadb: boolean
  /** Whether it takes several statements as one, which MySQL does not. Nor does MariaDB in its mode for Oracle. */
  readonly compound: boolean
  /** Whether it rolls back all of a transaction, and not only the statement, that has waited for a row for too long. */
  readonly undoesAll: boolean
}

const servers = new WeakMap<object, Server>()

/** `client` is the pool or the connection: whom it leads to is asked once. */
export async function serverOf(client: object, session: MysqlSession): Promise<Server> {
  const known = servers.get(client)
  if (known) return known
  const { rows } = await session.query('select version(), @@innodb_rollback_on_timeout + 0, @@sql_mode')
  const [version, undoesAll, mode] = (rows[0] ?? []).map(textOf)
  const { mariadb } = dialectOf(version ?? '')
  const compound = mariadb && !/ORACLE/.test(mode ?? '')
  const server = { mariadb, compound, undoesAll: undoesAll === '1' }
  servers.set(client, server)
  return server
}

export function limitsOn({ mariadb }: Server, { stepMs }: Terms): Limits {
  // In whole seconds, at least one.
  const seconds = Math.max(1, Math.floor(stepMs / 1000))
  const most = mariadb
    ? // The second also ends a wait for a row.
      { idle_transaction_timeout: String(seconds), max_statement_time: String(stepMs / 1000) }
    : // MySQL has no limit for a pause inside a transaction only, nor one for statements that write.
      { wait_timeout: String(seconds), innodb_lock_wait_timeout: String(seconds) }
  return { ...atMost(most), pauseMs: seconds * 1000 }
}

/** A setting of 0 is none. */
function atMost(most: Readonly<Record<string, string>>): Pick<Limits, 'set' | 'reset'> {
  const names = Object.keys(most)
  const kept = names.map((name) => `@holdfast_${name} = @@session.${name}`)
  const set = names.map((name) => {
    const theirs = `nullif(@@session.${name}, 0)`
    return `session ${name} = coalesce(least(${theirs}, ${most[name]}), ${most[name]})`
  })
  return {
    set: `set ${[...kept, ...set].join(', ')}`,
    reset: `set ${names.map((name) => `session ${name} = @holdfast_${name}`).join(', ')}`,
  }
}

/** The disk, the log, or a limit of time: COMMIT may have been carried out. */
const IN_DOUBT = new Set([1021, 1026, 1030, 1180, 1317, 1598, 1969, 3024])

/** Whether this answer to COMMIT means that nothing was stored. */
export function isRefusal(error: unknown): boolean {
  const number = numberOf(error)
  return number !== 0 && !IN_DOUBT.has(number) && !isGone(error)
}

/**
 * Whether the server has rolled back the whole transaction with this, or may yet: mysql2 waits no longer, and tells nobody
 * of an answer that comes later. What comes next would commit by itself.
 */
export function isUndone(error: unknown, { undoesAll }: Server): boolean {
  const number = numberOf(error)
  return number === 1213 || (undoesAll && number === 1205) || isUnheard(error)
}

function isUnheard(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === 'PROTOCOL_SEQUENCE_TIMEOUT'
}

/** Whether a transaction was open already. */
export function isInside(error: unknown): boolean {
  return numberOf(error) === INSIDE
}

/** Whether the server did not understand a statement, or the first of several. */
export function isUnparsed(error: unknown): boolean {
  return numberOf(error) === 1064
}

/** Whether the mark was gone. */
export function isUnmarked(error: unknown): boolean {
  return numberOf(error) === 1305
}

/** Whether a statement was given up because of a limit of time, or because a row stayed locked. */
export function isGivenUp(error: unknown): boolean {
  return [1205, 1317, 1969, 3024].includes(numberOf(error))
}

/** Whether a statement failed because of what it names: it is missing, or out of bounds. */
export function isAboutMysqlTable(error: unknown): boolean {
  return [1044, 1054, 1142, 1143, 1146, 1364].includes(numberOf(error))
}
