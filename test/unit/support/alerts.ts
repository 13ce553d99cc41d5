import {
  type Alert,
  type AlertLimits,
  watchLocks,
  type Watcher,
  type WatchOptions,
} from '../../../src/alerts/index.ts'
import type { LocksOptions } from '../../../src/options.ts'
import { world, type World } from './world.ts'

export const ALL_OFF: AlertLimits = {
  heldTooLong: false,
  waitedTooLong: false,
  failureRate: false,
  conflicts: false,
  storeUnreachable: false,
  poolExhausted: false,
  renewalsFailing: false,
  lost: false,
  tokenJump: false,
}

export interface Watched extends World {
  readonly watcher: Watcher
  readonly alerts: Alert[]
  /** `kind state key`, as they came. */
  heard(): string[]
}

/** A client that is watched for what `on` names, and for nothing else. */
export function watched(on: AlertLimits, options: LocksOptions & WatchOptions = {}): Watched {
  const { every, ...rest } = options
  const made = world(rest)
  const alerts: Alert[] = []
  made.locks.on('alert', (alert) => alerts.push(alert))
  const watcher = watchLocks(made.locks, { on: { ...ALL_OFF, ...on }, every, environment: made.time })
  const heard = (): string[] =>
    alerts.map(({ kind, state, key }) => [kind, state, key ?? ''].join(' ').trim())
  return { ...made, watcher, alerts, heard }
}
