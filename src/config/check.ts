import { checkDuration, type Duration } from '../duration.ts'
import { DEFAULTS } from '../settings.ts'
import type { Store } from '../store.ts'
import { plainCopy } from './plain.ts'
import { invalid, invalidIn, Problems } from './problems.ts'
import { checkShape, type Merged } from './schema.ts'
import type { KeyConfig, Settings, StoreSettings } from './settings.ts'
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

function complete(merged: Merged, hasStore: boolean): Settings {
  const min = merged.poll?.min ?? DEFAULTS.pollMinMs
  const keys = Object.entries(merged.keys ?? {}).map(([pattern, own]) => [pattern, withWait(own)])
  return {
    store: hasStore ? null : (merged.store as StoreSettings),
    service: merged.service,
    instance: merged.instance,
    callTimeout: merged.callTimeout,
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
