import type { Longest } from '../waiting-room.ts'
import type { AlertKind } from './alert.ts'
import type { Limits } from './limits.ts'
import type { Readings } from './readings.ts'

/** Something that is beyond its limit at this look. Of the same kind and key it is the same incident. */
export interface Finding {
  readonly kind: AlertKind
  readonly key: string | null
  readonly value: number
  readonly limit: number
  readonly message: string
}

export interface Look {
  readonly now: number
  readonly store: string
  readonly readings: Readings
  readonly longest: Longest
  readonly deviationMs: number
}

export function findings(look: Look, limits: Limits): Finding[] {
  return [...ofKeys(look, limits), ...ofRequests(look, limits), ...ofStore(look, limits)]
}

function* ofKeys({ longest }: Look, { heldTooLong, waitedTooLong }: Limits): Generator<Finding> {
  if (heldTooLong !== null)
    for (const { key, heldMs } of longest.held) {
      const message = `"${key}" has been held for ${seconds(heldMs)}; the limit is ${seconds(heldTooLong)}`
      yield { kind: 'held-too-long', key, value: heldMs, limit: heldTooLong, message }
    }
  if (waitedTooLong !== null)
    for (const { key, waitedMs } of longest.waiting) {
      const message = `someone has waited ${seconds(waitedMs)} for "${key}"; the limit is ${seconds(waitedTooLong)}`
      yield { kind: 'waited-too-long', key, value: waitedMs, limit: waitedTooLong, message }
    }
}

function* ofRequests({ now, readings }: Look, limits: Limits): Generator<Finding> {
  const { failureRate, conflicts, renewalsFailing, lost } = limits
  const { unrenewedSince } = readings
  const ended = readings.withinMinute('ended')
  const share = readings.withinMinute('failed') / Math.max(1, ended)
  if (failureRate && ended >= failureRate.least && share >= failureRate.share) {
    const of = `${percent(share)} of ${ended} requests failed or timed out within a minute`
    yield found('failure-rate', share, failureRate.share, `${of}; the limit is ${percent(failureRate.share)}`)
  }
  const counted = [
    ['conflicts', 'conflicts', conflicts, 'requests met a holder of another service'],
    ['lost', 'lost', lost, 'leases were lost'],
  ] as const
  for (const [kind, name, limit, what] of counted) {
    const value = readings.withinMinute(name)
    if (limit !== null && value >= limit)
      yield found(kind, value, limit, `${value} ${what} within a minute; the limit is ${limit}`)
  }
  if (renewalsFailing !== null && unrenewedSince !== null && now - unrenewedSince >= renewalsFailing) {
    const ms = now - unrenewedSince
    const message = `renewals have failed for ${seconds(ms)}; the limit is ${seconds(renewalsFailing)}`
    yield found('renewals-failing', ms, renewalsFailing, message)
  }
}

function* ofStore({ now, store, readings, deviationMs }: Look, limits: Limits): Generator<Finding> {
  const { storeUnreachable, poolExhausted, tokenJump } = limits
  const { failingSince, crowdedSince, stats } = readings
  if (storeUnreachable !== null && failingSince !== null && now - failingSince >= storeUnreachable) {
    const ms = now - failingSince
    const message = `the ${store} store has not answered for ${seconds(ms)}; the limit is ${seconds(storeUnreachable)}`
    yield found('store-unreachable', ms, storeUnreachable, message)
  }
  if (poolExhausted !== null && crowdedSince !== null && now - crowdedSince >= poolExhausted) {
    const ms = now - crowdedSince
    const { waiting = 0, open = 0 } = stats.pool ?? {}
    const message =
      `calls have waited for a connection for ${seconds(ms)}, ${waiting} of them now, with ${open} open; ` +
      `the limit is ${seconds(poolExhausted)}`
    yield found('pool-exhausted', ms, poolExhausted, message)
  }
  const strayMs = Math.abs(deviationMs)
  if (tokenJump !== null && strayMs >= tokenJump) {
    const where = deviationMs > 0 ? 'ahead of' : 'behind'
    const message =
      `tokens are ${seconds(strayMs)} ${where} the time that has passed here; the limit is ${seconds(tokenJump)}: ` +
      'the clock of the store was set or stands still, or this machine was asleep'
    yield found('token-jump', strayMs, tokenJump, message)
  }
}

function found(kind: AlertKind, value: number, limit: number, message: string): Finding {
  return { kind, key: null, value, limit, message }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
