/** Below the limit of a call. A row that stays locked longer belongs to somebody's forgotten transaction. */
const LOCK_WAIT_SECONDS = 1
const STATEMENT_SECONDS = 2.2

/** A statement does not wait longer than this for a lock; more would be a clock that was set. */
const LONGEST_WAIT_MICROS = 120_000_000

// Microseconds since 1970 without a time zone in between: local time is ambiguous for an hour each autumn.
export const START = `timestampdiff(microsecond, date'1970-01-01', utc_timestamp(6))`
const SINCE = 'timestampdiff(microsecond, now(6), sysdate(6))'

/**
 * The server's clock at this very moment, in microseconds: `utc_timestamp` alone is the start of the statement, before
 * any wait for a row. Where `sysdate` is the start, too, or local time jumps meanwhile, it is that: an early clock
 * only makes leases look longer.
 */
export const CLOCK: string = `(${START} +
  case when ${SINCE} between 0 and ${LONGEST_WAIT_MICROS} then ${SINCE} else 0 end)`

/** In front of each row of a change, for the one who sends it. Of MariaDB only. */
export const SESSION: readonly string[] = ['@@in_transaction + 0', '@@autocommit + 0']

/**
 * In MariaDB, settings for one statement: limits, and a mode in which assignments run from left to right. MySQL has
 * only that order, and no limits that are not for the whole session.
 */
export const SETTINGS: string =
  `set statement max_statement_time = ${STATEMENT_SECONDS}, innodb_lock_wait_timeout = ${LOCK_WAIT_SECONDS}, ` +
  `lock_wait_timeout = ${LOCK_WAIT_SECONDS}, sql_mode = 'STRICT_ALL_TABLES' for `

/** Digits only: no mode of the server, character set or driver has a say in how it is read. */
export function bytes(text: string): string {
  // An empty literal is a null in some modes of MariaDB.
  return text === '' ? `substr(x'20', 2)` : `x'${Buffer.from(text).toString('hex')}'`
}

export function number(value: number): string {
  return BigInt(Math.ceil(value)).toString()
}

export const HELD: string = `owner is not null and expires_at > ${CLOCK}`

/** A row as one text; an absent value is a dash. */
export function line(...parts: readonly string[]): string {
  return `concat_ws(',', ${parts.map((part) => `coalesce(${part}, '-')`).join(', ')}) as answer`
}

export function hexOf(text: string): string {
  return Buffer.from(text).toString('hex').toUpperCase()
}

export function textOfHex(hex: string): string {
  return Buffer.from(hex, 'hex').toString()
}
