import { isConnectTimeout, UNREACHED } from '../../databases/pg-errors.ts'
import { describeError, LockError } from '../../errors.ts'
import { createSchema, createTable, type Names, qualified } from './schema.ts'

/** No connection came free, or no answer came, within the limit. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut'
}

// https://www.postgresql.org/docs/current/errcodes-appendix.html; system calls have codes of their own.
const REMEDIES: Readonly<Record<string, string>> = {
  '28P01': 'the password is wrong; check the user and the password',
  '28000': 'the server does not let this user in; check the user, the password and pg_hba.conf',
  '3D000': 'there is no such database; create it, or name another one',
  '25006': 'the server is read-only, as a standby is; connect to the primary',
  '25P02': 'the connection is inside a failed transaction; give the store a pool, or a client of its own',
  '40001': 'other transactions were in the way again and again',
  '40P01': 'other transactions were in the way again and again',
  '53300': 'the server has no connection left; raise max_connections or use smaller pools',
  '55P03': 'a row or the table stays locked; look in pg_stat_activity for a transaction that does not end',
  '57014': 'the statement took too long and was cancelled',
  '57P01': 'the server is shutting down or ended the connection',
  '57P02': 'the server has crashed and is recovering',
  '57P03': 'the server is starting up or shutting down',
  '57P05': 'the server ended the connection',
  ERR_INVALID_URL: 'the URL cannot be read; write special characters of the password percent-encoded',
  ECONNREFUSED: 'nothing listens there; check host and port, and that the server runs',
  ENOTFOUND: 'the host name is unknown; check it',
  EAI_AGAIN: 'the host name cannot be looked up right now',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  ETIMEDOUT: UNREACHED,
  EHOSTUNREACH: UNREACHED,
  ENETUNREACH: UNREACHED,
  CONNECT_TIMEOUT: UNREACHED,
  CONNECTION_ENDED: 'the client given to the store was ended; give one that stays open',
  CONNECTION_DESTROYED: 'the client given to the store was ended; give one that stays open',
}

/** Our statements on a table of another shape. */
const MISFIT = new Set(['42703', '42804', '42883', '42P10', '23502', '23514', '428C9'])
const MISSING = new Set(['42P01', '3F000'])
/** What one who creates a table or schema at the same time as another may get, also of `if not exists`. */
const CREATED = new Set(['23505', '42P06', '42P07'])
const IN_THE_WAY = new Set(['40001', '40P01'])
/** What a pooler that shares connections between transactions makes of a prepared statement. */
const UNPREPARED = new Set(['26000', '42P05', '0A000'])
/** The connection itself is of no more use. */
const LOST = /^(08|57P|25006|25P02|E[A-Z]+$|CONNECT)/

export function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined
  return typeof code === 'string' ? code : ''
}

/** Deadlock or serialization failure: the step did nothing, and may be tried again at once. */
export function isInTheWay(error: unknown): boolean {
  return IN_THE_WAY.has(codeOf(error))
}

export function isMissing(error: unknown): boolean {
  return MISSING.has(codeOf(error))
}

export function isCreated(error: unknown): boolean {
  return CREATED.has(codeOf(error))
}

/** The statement was not run, because it was not, or no longer, prepared as we thought. */
export function isUnprepared(error: unknown): boolean {
  return UNPREPARED.has(codeOf(error))
}

/** A connection with this error should be closed rather than used again. Errors without a code are the driver's. */
export function isLost(error: unknown): boolean {
  const code = codeOf(error)
  return code === '' || LOST.test(code)
}

/** What the caller sees: what is wrong with which table, and what to do. */
export function asLockError(error: unknown, names: Names): LockError {
  if (error instanceof LockError) return error
  const why = remedyOf(error, names)
  const what = why ? `${why} (${describeError(error)})` : describeError(error)
  const badUrl = codeOf(error) === 'ERR_INVALID_URL'
  // Waiting does not mend a wrong table.
  const code = badUrl || MISFIT.has(codeOf(error)) ? 'INVALID_OPTION' : 'STORE_UNAVAILABLE'
  return new LockError(code, `the postgres store cannot use ${qualified(names)}: ${what}`, {
    // That error has the URL, with its password.
    cause: badUrl ? undefined : error,
  })
}

function remedyOf(error: unknown, names: Names): string | undefined {
  const code = codeOf(error)
  if (code === '42501') {
    return (
      `the user lacks a right; grant usage on the schema and select, insert, update, delete on the table, ` +
      `or let someone with more rights run:\n${ddl(names)}\n`
    )
  }
  if (MISSING.has(code)) return `there is no such table; leave \`create\` on, or run:\n${ddl(names)}\n`
  if (MISFIT.has(code)) return misfit(names)
  if (
    error instanceof Error &&
    /after calling end on the pool|Client was closed|not queryable/.test(error.message)
  )
    return 'the client given to the store was ended, or its connection was lost; give a pool that stays open'
  if (isConnectTimeout(error)) return UNREACHED
  if (error instanceof Error && error.message.startsWith('Connection terminated'))
    return 'the connection was cut'
  return REMEDIES[code]
}

/** A lock that is granted inside a transaction vanishes with its rollback. */
export function insideTransaction(): Error {
  return new Error(
    'the connection is inside a transaction of yours, and a lock would vanish with its rollback; give the store a ' +
      'pool whose connections come back without one, or a client of its own',
  )
}

export function missingTable(names: Names): LockError {
  return new LockError(
    'STORE_UNAVAILABLE',
    `the postgres store finds no table ${qualified(names)}; with \`create: false\` someone must run:\n${ddl(names)}`,
  )
}

export function otherTable(names: Names, problems: readonly string[]): LockError {
  return new LockError(
    'INVALID_OPTION',
    `the postgres store cannot use ${qualified(names)}: ${problems.join(', ')}; ${misfit(names)}`,
  )
}

function misfit(names: Names): string {
  return `it is not what this version of holdfast makes; name another table or, if this one is holdfast's, drop it and run:\n${ddl(names)}\n`
}

function ddl(names: Names): string {
  return `${createSchema(names)};\n${createTable(names)};`
}

export function closedError(): LockError {
  return new LockError('CLOSED', 'the postgres store is closed; create a new one')
}
