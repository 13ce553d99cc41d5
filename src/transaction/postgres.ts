import { MARK } from './control.ts'
import type { Session, Terms } from './session.ts'

/** What follows `begin`. */
export function levelOf({ isolation }: Terms): string {
  return isolation === null ? '' : `isolation level ${isolation}`
}

/**
 * Lets the server end a transaction whose process is frozen or out of reach. Never longer than what the user
 * has set. `transaction_timeout` is of PostgreSQL 17; before that a setting of our own without effect.
 */
export function limitsOf({ stepMs, wholeMs }: Terms): string {
  const name = `case when current_setting('server_version_num')::int < 170000
    then 'holdfast.transaction_timeout' else 'transaction_timeout' end`
  return [
    MARK,
    atMost('statement_timeout', stepMs),
    atMost('idle_in_transaction_session_timeout', stepMs),
    ...(wholeMs === null ? [] : [atMost('transaction_timeout', wholeMs, name)]),
  ].join(', ')
}

function atMost(setting: string, ms: number, name = `'${setting}'`): string {
  // Null if the server knows no such setting.
  const theirs = `(extract(epoch from current_setting('${setting}', true)::interval) * 1000)::bigint`
  return `set_config(${name}, least(${ms}, nullif(${theirs}, 0))::text, true)`
}

/** The SQLSTATE of a server's answer; null for what the driver or the network came up with. */
function stateOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  return typeof code === 'string' && typeof severity === 'string' && code.length === 5 ? code : null
}

/**
 * Whether this answer to COMMIT means that nothing was stored: a conflict, a constraint, a time limit. Not so
 * if the connection, the server or the disk failed: then it depends on when.
 */
export function isRefusal(error: unknown): boolean {
  const state = stateOf(error)
  return state !== null && !/^(08|40003|53|57P|58|F0|XX)/.test(state)
}

/** Codes of postgres.js, of the network and of TLS. A value or a file of a query may fail with other codes of Node. */
const CUT_OFF =
  /^(CONNECTION_|E(CONN|HOST|NET)|E(NOTCONN|PIPE|PROTO|TIMEDOUT)$|ERR_(SSL|TLS)_|ERR_(SOCKET_CLOSED|STREAM_(DESTROYED|WRITE_AFTER_END))$)/

/** Whether the driver says that the connection is gone. */
export function isCutOff(error: unknown): boolean {
  const { code } = error instanceof Error ? (error as { code?: unknown }) : {}
  return typeof code === 'string' && CUT_OFF.test(code)
}

/**
 * Whether the server has ended the session with this. As an ERROR such a state comes from another server that a
 * statement has asked, and the session goes on.
 */
export function isFarewell(error: unknown): boolean {
  const state = stateOf(error)
  if (state === null) return false
  const { severity } = error as { severity?: unknown }
  return (
    severity === 'FATAL' || severity === 'PANIC' || (/^(57P|25P0[34])/.test(state) && severity !== 'ERROR')
  )
}

/** Whether the server has ended the session because of a pause between two statements. */
export function isTooLongAPause(error: unknown): boolean {
  return stateOf(error) === '25P03'
}

/** Whether a statement failed because of a limit or of something outside, not because of what it does. */
export function isInterruption(error: unknown, { broken }: Session): boolean {
  if (broken !== null && (error === broken || isCutOff(error))) return true
  return /^(08|25|57)/.test(stateOf(error) ?? '')
}

/** Whether a statement failed because of what it names: it is missing, or out of bounds. */
export function isAboutTable(error: unknown): boolean {
  return /^(42|3F)/.test(stateOf(error) ?? '')
}

/** Whether a statement was cancelled, as by its time limit. */
export function isCancelled(error: unknown): boolean {
  return stateOf(error) === '57014'
}

/** BEGIN found a transaction: one whose level cannot be set any more, or one that has failed. */
export function isInside(error: unknown): boolean {
  return stateOf(error) === '25001' || isAftermath(error)
}

/** Whether a statement came after the one that made the transaction fail. */
export function isAftermath(error: unknown): boolean {
  return stateOf(error) === '25P02'
}
