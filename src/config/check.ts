import { checkWebhook } from '../alerts/webhook.ts'
import { checkDuration, type Duration } from '../duration.ts'
import { DEFAULTS } from '../settings.ts'
import type { Store } from '../store.ts'
import { plainCopy } from './plain.ts'
import { invalid, invalidIn, Problems } from './problems.ts'
import { checkShape, type Merged } from './schema.ts'
import type { AlertsConfig, AlertsSettings, KeyConfig, Settings, StoreSettings } from './settings.ts'
import { storeOf } from './store.ts'
import { isRecord, type Variables } from './variables.ts'

export interface Checked {
  readonly settings: Settings
  /** Not opened. Null: the program has one. */
  readonly store: Store | null
}

export interface Terms {
  /** Where the configuration is from, for messages. */
  readonly name: string | null
  readonly variables: Variables
  /** The program has one, so none can be configured. */
  readonly hasStore: boolean
}

/** Settings that hold, or one INVALID_OPTION with all that is wrong. */
export async function check(value: unknown, terms: Terms): Promise<Checked> {
  try {
    return await checkAll(value, terms)
  } catch (error) {
    throw invalidIn(terms.name, error)
  }
}

async function checkAll(value: unknown, { variables, hasStore }: Terms): Promise<Checked> {
  const config = plainCopy(value)
  if (!isRecord(config)) throw invalid('it must be an object with names and values')
  const problems = new Problems(variables.names)
  const merged = checkShape(variables.over(config), problems)
  checkPoll(merged, problems)
  checkKeys(merged, problems)
  checkAlerts(merged, problems)
  let store: Store | null = null
  if (hasStore) refuseStore(merged, problems)
  else if (!problems.has('store')) store = await storeOf(merged.store ?? {}, problems)
  problems.throwIfAny()
  return { settings: complete(merged, hasStore), store }
}

function refuseStore({ store }: Merged, problems: Problems): void {
  for (const name of Object.keys(store ?? {}))
    problems.add(['store', name], 'the program has a store of its own, so none can be configured')
}

function checkPoll({ poll }: Merged, problems: Problems): void {
  const [min, max] = [poll?.min ?? DEFAULTS.pollMinMs, poll?.max]
  if (max !== undefined && ms(max) < ms(min))
    problems.add(['poll', 'max'], 'it must not be smaller than poll.min')
}

/** Else it would be found by the first who asks for such a key. */
function checkKeys({ keys, lease = DEFAULTS.leaseMs }: Merged, problems: Problems): void {
  if (problems.has('lease')) return
  for (const [pattern, own] of Object.entries(keys ?? {})) {
    if (ms(own.atLeast ?? 0) > ms(own.lease ?? lease))
      problems.add(['keys', pattern, 'atLeast'], 'it must not be longer than the lease')
  }
}

function checkAlerts({ alerts }: Merged, problems: Problems): void {
  const { webhook, secret } = alerts ?? {}
  if (problems.has('alerts') || (webhook === undefined && secret === undefined)) return
  if (webhook === undefined || secret === undefined) {
    const missing = webhook === undefined ? 'webhook' : 'secret'
    problems.add(['alerts', missing], 'missing, a webhook and its secret belong together')
    return
  }
  const rest = { url: webhook, secret: '0'.repeat(16) }
  if (!holds(() => checkWebhook(rest)))
    problems.add(['alerts', 'webhook'], 'give an http or https URL without a user and a password')
  if (!holds(() => checkWebhook({ url: 'http://localhost', secret })))
    problems.add(['alerts', 'secret'], 'give a text of 16 to 1000 characters')
}

function holds(test: () => unknown): boolean {
  try {
    test()
    return true
  } catch {
    return false
  }
}

function alertsSettings({ webhook, secret, every, ...limits }: AlertsConfig): AlertsSettings {
  const given = webhook === undefined || secret === undefined ? undefined : { url: webhook, secret }
  return { limits, every, webhook: given }
}

function complete(merged: Merged, hasStore: boolean): Settings {
  const min = merged.poll?.min ?? DEFAULTS.pollMinMs
  const keys = Object.entries(merged.keys ?? {}).map(([pattern, own]) => [pattern, withWait(own)])
  return {
    store: hasStore ? null : (merged.store as StoreSettings),
    service: merged.service,
    instance: merged.instance,
    callTimeout: merged.callTimeout,
    alerts: merged.alerts === undefined ? null : alertsSettings(merged.alerts),
    defaults: {
      lease: merged.lease ?? DEFAULTS.leaseMs,
      wait: waitOf(merged.wait ?? DEFAULTS.waitMs),
      poll: { min, max: merged.poll?.max ?? Math.max(DEFAULTS.pollMaxMs, ms(min)) },
      keys: Object.fromEntries(keys) as Settings['defaults']['keys'],
    },
  }
}

function withWait({ wait, ...rest }: KeyConfig): object {
  return wait === undefined ? rest : { ...rest, wait: waitOf(wait) }
}

function waitOf(wait: Duration | 'Infinity'): Duration {
  return wait === 'Infinity' ? Infinity : wait
}

function ms(duration: Duration): number {
  return checkDuration(duration, { name: '', min: 0 })
}
