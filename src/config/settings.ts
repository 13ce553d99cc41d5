import type { AlertLimits } from '../alerts/limits.ts'
import type { WebhookOptions } from '../alerts/webhook.ts'
import type { Duration } from '../duration.ts'
import type { KeyDefaults } from '../key-pattern.ts'

/** What a configuration may say: the content of a file, or a value of a source. */
export interface LocksConfig {
  /** For editors; holdfast does not read it. */
  readonly $schema?: string | undefined
  /** A URL, or one with options of the store. */
  readonly store?: string | StoreConfig | undefined
  readonly service?: string | undefined
  readonly instance?: string | undefined
  readonly lease?: Duration | undefined
  readonly wait?: Duration | 'Infinity' | undefined
  readonly callTimeout?: Duration | undefined
  readonly poll?: { readonly min?: Duration | undefined; readonly max?: Duration | undefined } | undefined
  readonly keys?: Readonly<Record<string, KeyConfig>> | undefined
  /** There are alerts if this is here, though it be empty. */
  readonly alerts?: AlertsConfig | undefined
}

/** The limits, with what else `watchLocks` takes. */
export interface AlertsConfig extends AlertLimits {
  /** A URL; then there must be a secret. */
  readonly webhook?: string | undefined
  /** Better by HOLDFAST_ALERT_SECRET. */
  readonly secret?: string | undefined
  readonly every?: Duration | undefined
}

export interface KeyConfig extends Omit<KeyDefaults, 'wait'> {
  readonly wait?: Duration | 'Infinity' | undefined
}

/** Each store has some of these: see `docs/configuration.md`. */
export interface StoreConfig {
  /** May be absent if HOLDFAST_STORE has it. */
  readonly url?: string | undefined
  readonly prefix?: string | undefined
  readonly replicas?: number | undefined
  readonly push?: boolean | undefined
  readonly schema?: string | undefined
  readonly table?: string | undefined
  readonly keep?: Duration | undefined
  readonly create?: boolean | undefined
  readonly listen?: boolean | string | undefined
  readonly database?: string | undefined
  readonly collection?: string | undefined
}

/** A configuration that was checked: complete, with the environment's variables in it. */
export interface Settings {
  /** Null: the program has given a store itself. */
  readonly store: StoreSettings | null
  readonly service: string | undefined
  readonly instance: string | undefined
  readonly callTimeout: Duration | undefined
  /** Null: none are wanted. */
  readonly alerts: AlertsSettings | null
  /** Every one of them, so that a setting that was taken out returns to its default. */
  readonly defaults: {
    readonly lease: Duration
    readonly wait: Duration
    readonly poll: { readonly min: Duration; readonly max: Duration }
    readonly keys: Readonly<Record<string, KeyDefaults>>
  }
}

export interface AlertsSettings {
  readonly limits: AlertLimits
  readonly webhook: WebhookOptions | undefined
  readonly every: Duration | undefined
}

export interface StoreSettings extends StoreConfig {
  readonly url: string
}
