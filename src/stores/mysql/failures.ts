import { numberOf } from '../../databases/mysql-errors.ts'
import { describeError, LockError } from '../../errors.ts'
import { createTable, type Names, qualified } from './schema.ts'

/** No connection came free, or no answer came, within the limit. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut'
}

// The numbers of https://mariadb.com/kb/en/mariadb-error-code-reference/ are those of MySQL below 1900.
const REMEDIES: Readonly<Record<string, string>> = {
  1021: 'the disk of the server is full',
  1040: 'the server has no connection left; raise max_connections or use smaller pools',
  1044: 'this user may not use the database; grant select, insert, update and delete on the table',
  1045: 'the server does not let this user in; check the user, the password and the host it may come from',
  1049: 'there is no such database; create it, or name another one',
  1053: 'the server is shutting down',
  1114: 'the table or the disk is full',
  1129: 'the server blocks this host after many failed connections; run FLUSH HOSTS there',
  1153: 'max_allowed_packet of the server is below what a step may take; set it to 1 MB at least',
  1203: 'this user has no connection left; raise max_user_connections or use smaller pools',
  1205: 'a row stays locked; look in information_schema.innodb_trx for a transaction that does not end',
  1213: 'other transactions were in the way again and again',
  1226: 'this user has used up what the server allows it; raise its limits',
  1290: 'the server is read-only, as a replica is; connect to the primary',
  1317: 'someone ended the statement with KILL QUERY',
  1792: 'the session is read-only; give the store a pool whose sessions may write',
  1836: 'the server is read-only; connect to the primary',
  1927: 'someone ended the connection with KILL',
  1969: 'the statement took too long and was cancelled',
  3024: 'the statement took too long and was cancelled',
  3572: 'a row stays locked; look in information_schema.innodb_trx for a transaction that does not end',
  4031: 'the server ended the connection because it was idle',
  ECONNREFUSED: 'nothing listens there; check host and port, and that the server runs',
  ENOTFOUND: 'the host name is unknown; check it',
  EAI_AGAIN: 'the host name cannot be looked up right now',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  PROTOCOL_CONNECTION_LOST: 'the connection was cut',
  ER_SOCKET_UNEXPECTED_CLOSE: 'the connection was cut',
  ER_CMD_CONNECTION_CLOSED: 'the connection given to the store was lost or ended; give a pool',
  ETIMEDOUT: 'the server cannot be reached; check host, port and firewall',
  EHOSTUNREACH: 'the server cannot be reached; check host, port and firewall',
  ENETUNREACH: 'the server cannot be reached; check host, port and firewall',
  ER_CONNECTION_TIMEOUT: 'the server cannot be reached; check host, port and firewall',
  ER_POOL_ALREADY_CLOSED: 'the pool given to the store was ended; give one that stays open',
  ER_ADD_CONNECTION_CLOSED_POOL: 'the pool given to the store was ended; give one that stays open',
}

/** Our statements on a table of another shape, or on a server that is none of those we know. */
const MISFIT = new Set([1054, 1064, 1136, 1364, 1366, 1406])
const MISSING = 1146
const FORBIDDEN = new Set([1142, 1143])
const CREATED = 1050
const IN_THE_WAY = new Set([1205, 1213])

function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined
  return typeof code === 'string' ? code : ''
}

/** Deadlock, or a row that stayed locked for a second: the step did nothing, and may be tried again. */
export function isInTheWay(error: unknown): boolean {
  return IN_THE_WAY.has(numberOf(error))
}

export function isMissing(error: unknown): boolean {
  return numberOf(error) === MISSING
}

export function isCreated(error: unknown): boolean {
  return numberOf(error) === CREATED
}

/** What the caller sees: what is wrong with which table, and what to do. */
export function asLockError(error: unknown, names: Names): LockError {
  if (error instanceof LockError) return error
  const cause = rootOf(error)
  const why = remedyOf(cause, names)
  const what = why ? `${why} (${saidBy(cause)})` : saidBy(cause)
  // Waiting does not mend a wrong table.
  const code = MISFIT.has(numberOf(cause)) ? 'INVALID_OPTION' : 'STORE_UNAVAILABLE'
  return new LockError(code, `the mysql store cannot use ${qualified(names)}: ${what}`, { cause })
}

/** What the server said: the message of `mariadb` has the whole statement, and more. */
function saidBy(error: unknown): string {
  const { sqlMessage } = error instanceof Error ? (error as { sqlMessage?: unknown }) : {}
  return typeof sqlMessage === 'string' ? `${sqlMessage} (${codeOf(error)})` : describeError(error)
}

/** The pool of `mariadb` wraps the reason why it has no connection. */
function rootOf(error: unknown): unknown {
  const { cause } = error instanceof Error ? error : {}
  return numberOf(error) === 0 && cause instanceof Error && codeOf(cause) !== '' ? cause : error
}

function remedyOf(error: unknown, names: Names): string | undefined {
  const number = numberOf(error)
  if (FORBIDDEN.has(number)) {
    return (
      'the user lacks a right; grant select, insert, update and delete on the table, or let someone with more rights ' +
      `run:\n${createTable(names)};\n`
    )
  }
  if (number === MISSING)
    return `there is no such table; leave \`create\` on, or run:\n${createTable(names)};\n`
  if (MISFIT.has(number)) return misfit(names)
  if (error instanceof Error && /Pool is closed|closed state/.test(error.message))
    return 'the client given to the store was ended, or its connection was lost; give a pool that stays open'
  return REMEDIES[number] ?? REMEDIES[codeOf(error)]
}

/** A lock that is granted inside a transaction vanishes with its rollback. */
export function insideTransaction(): Error {
  return new Error(
    'the connection is inside a transaction of yours, and a lock would vanish with its rollback; give the store a ' +
      'pool whose connections come back without one, or a connection of its own',
  )
}

export function missingTable(names: Names): LockError {
  return new LockError(
    'STORE_UNAVAILABLE',
    `the mysql store finds no table ${qualified(names)}; with \`create: false\` someone must run:\n${createTable(names)};`,
  )
}

export function otherTable(names: Names, problems: readonly string[]): LockError {
  return new LockError(
    'INVALID_OPTION',
    `the mysql store cannot use ${qualified(names)}: ${problems.join(', ')}; ${misfit(names)}`,
  )
}

function misfit(names: Names): string {
  return `it is not what this version of holdfast makes; name another table or, if this one is holdfast's, drop it and run:\n${createTable(names)};\n`
}

export function closedError(): LockError {
  return new LockError('CLOSED', 'the mysql store is closed; create a new one')
}
