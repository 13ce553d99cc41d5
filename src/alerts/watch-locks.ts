import { checkDuration, type Duration } from '../duration.ts'
import type { Environment } from '../environment.ts'
import type { Locks } from '../locks.ts'
import { checkClient, checkNames, invalid, checkEnvironment } from '../option-check.ts'
import { runOutside } from '../section.ts'
import type { Alert } from './alert.ts'
import { type AlertLimits, checkLimits } from './limits.ts'
import { Watcher } from './watcher.ts'
import { Webhook, type WebhookOptions } from './webhook.ts'

export interface WatchOptions {
  /** Limits that are not the default. */
  readonly on?: AlertLimits | undefined
  readonly webhook?: WebhookOptions | undefined
  /** How often to look, from 1s to 1m. Default 5s. */
  readonly every?: Duration | undefined
  /** As of `createLocks`. */
  readonly environment?: Environment | undefined
}

const EVERY_MS = 5000
const MOST_MS = 60_000

const watchersOf = new WeakMap<Locks, Set<Watcher>>()

/**
 * Raises alerts: as the event `alert` of the client, in its log, and to a webhook if there is one. One when an incident
 * begins, and one when it is over. It sees this process, and the store as far as this process uses it. Ends with the
 * client.
 */
export function watchLocks(locks: Locks, options: WatchOptions = {}): Watcher {
  checkClient('watchLocks', locks)
  checkNames('watchLocks', options, ['on', 'webhook', 'every', 'environment'])
  const { on = {}, webhook, every = EVERY_MS } = options
  const env = checkEnvironment(options.environment)
  const limits = checkLimits(on)
  const everyMs = checkDuration(every, { name: 'watchLocks: every', min: 1000 })
  if (everyMs > MOST_MS) throw invalid('watchLocks: every: give at most 1m')
  const hook = webhook === undefined ? null : new Webhook(webhook, env, (error) => locks.report(error))
  // Called inside of `using`, its timer must not go on inside.
  const ended = (): unknown => watchers.delete(watcher)
  const watcher = runOutside(() => new Watcher(locks, { env, limits, everyMs, webhook: hook, ended }))
  const watchers = watchersOf.get(locks) ?? new Set()
  watchersOf.set(locks, watchers.add(watcher))
  return watcher
}

/** The incidents that are on, of all watchers of this client. */
export function alertsOf(locks: Locks): readonly Alert[] {
  return [...(watchersOf.get(locks) ?? [])].flatMap(({ alerts }) => alerts)
}
