import { watchLocks } from '../alerts/watch-locks.ts'
import type { Watcher } from '../alerts/watcher.ts'
import type { Environment } from '../environment.ts'
import type { Locks } from '../locks.ts'
import type { AlertsSettings } from './settings.ts'

/** The watcher that a configuration asks for, if it does. Ends with the client. */
export class ConfiguredAlerts {
  readonly #locks: Locks
  readonly #env: Environment
  #watcher: Watcher | null = null
  /** What it was made with, and what only a new one could have. */
  #made = ''

  constructor(locks: Locks, env: Environment) {
    this.#locks = locks
    this.#env = env
  }

  /** False if there is something that a watcher that runs cannot take over. */
  apply(alerts: AlertsSettings | null): boolean {
    if (alerts === null) {
      void this.#watcher?.stop()
      this.#watcher = null
      return true
    }
    const { limits, webhook, every } = alerts
    const made = JSON.stringify([webhook, every])
    if (this.#watcher) {
      this.#watcher.configure(limits)
      return made === this.#made
    }
    this.#watcher = watchLocks(this.#locks, { on: limits, webhook, every, environment: this.#env })
    this.#made = made
    return true
  }
}
