/** What can be wrong. Each has a limit of its own in the options of `watchLocks`. */
export type AlertKind =
  | 'held-too-long'
  | 'waited-too-long'
  | 'failure-rate'
  | 'conflicts'
  | 'store-unreachable'
  | 'pool-exhausted'
  | 'renewals-failing'
  | 'lost'
  | 'token-jump'

/** Sent twice for each incident: when it begins, and when it is over. */
export interface Alert {
  readonly kind: AlertKind
  readonly state: 'on' | 'over'
  /** The same in both. */
  readonly incident: string
  /** Of an alert about one key. */
  readonly key: string | null
  readonly value: number
  readonly limit: number
  /** A sentence for people. */
  readonly message: string
  /** How long it has been on: 0 when it begins. */
  readonly lastedMs: number
}
