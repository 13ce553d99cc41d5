/** A row that stays locked this long belongs to somebody's forgotten transaction. Below the limit of a call. */
const LOCK_TIMEOUT_MS = 2000

/** Longer keys travel as a digest: the server keeps 8 GB of pending messages at most, and each under 8 KB. */
export const LONGEST_PLAIN_KEY = 120

/** What a listener hears: `=key`, or `#sha256` of a long key. `?` is its own echo. */
export const PLAIN = '='
export const DIGEST = '#'
export const ECHO = '?'

/** Further processes poll until the list is shorter: it is copied with each version of the row. */
const MAX_WAITERS = 100

/** Every waiting process listens on a channel of its own: a release wakes one of them, not all. */
export function channelOf(waiter: string): string {
  return `holdfast:${waiter}`
}

export const LOCK_TIMEOUT: string = `set_config('lock_timeout', '${LOCK_TIMEOUT_MS}', true)`

/** Losing a release or a mark in a crash of the server is safe: the lease runs out. Losing a grant is not. */
export const MAY_BE_LOST: string = `set_config('synchronous_commit', 'off', true)`

/** Where the server would not wait for the disk, a crash could forget a holder. */
export const MUST_LAST: string = `case when current_setting('synchronous_commit') = 'off'
    then set_config('synchronous_commit', 'on', true) end`

export const WAKE_WOKEN: string = `case when l.woken is not null
    then pg_notify('${channelOf('')}' || l.woken, ${payload('l.key')})::text end`

/** What becomes of a record whose key is given back. */
export const FREED: string = `owner = null, expires_at = least(l.expires_at, clock_timestamp()),
  waiters = l.waiters[2:], woken = l.waiters[1]`

export function held(l: string): string {
  return `${l}.owner is not null and ${l}.expires_at > clock_timestamp()`
}

/** A process that sleeps does not ask, but it wants the key all the same. */
export function wanted(l: string): string {
  return `(${l}.wanted or cardinality(${l}.waiters) > 0)`
}

/** Last in the list, once. A process that does not listen is null, and stays out. */
export function joined(waiters: string, waiter: string): string {
  return `case when ${waiter} is null or ${waiter} = any(${waiters}) or cardinality(${waiters}) >= ${MAX_WAITERS}
    then ${waiters} else ${waiters} || ${waiter} end`
}

/** In double precision, which is off by less than a microsecond; `extract` would count in decimal digits, slowly. */
export function micros(time: string): string {
  return `(date_part('epoch', ${time}) * 1000000)::bigint`
}

export function millis(time: string): string {
  return `(extract(epoch from ${time}) * 1000)`
}

export function later(time: string, from: string): string {
  return `${time} + ${from}.lease_ms * interval '1 ms'`
}

function payload(key: string): string {
  return `case when octet_length(${key}) <= ${LONGEST_PLAIN_KEY} then '${PLAIN}' || ${key}
    else '${DIGEST}' || encode(sha256(convert_to(${key}, 'UTF8')), 'hex') end`
}
