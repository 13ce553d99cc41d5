import type { Environment, Timer } from '../environment.ts'
import type { Locks } from '../locks.ts'
import type { Alert, AlertKind } from './alert.ts'
import { findings } from './findings.ts'
import { Incidents, MOST_INCIDENTS } from './incidents.ts'
import { type AlertLimits, checkLimits, LIMIT_OF, type Limits } from './limits.ts'
import { Readings } from './readings.ts'
import { TokenProgress } from './token-progress.ts'
import type { Webhook } from './webhook.ts'

interface WatcherOptions {
  readonly env: Environment
  readonly limits: Limits
  readonly everyMs: number
  readonly webhook: Webhook | null
  readonly ended: () => unknown
}

/** Looks at a client again and again, and says when something is beyond its limit. Made by `watchLocks`. */
export class Watcher {
  readonly #locks: Locks
  readonly #env: Environment
  readonly #everyMs: number
  readonly #webhook: Webhook | null
  readonly #incidents: Incidents
  readonly #readings: Readings
  readonly #tokens: TokenProgress
  readonly #ends: readonly (() => unknown)[]
  #limits: Limits
  #timer: Timer
  #isAsking = false
  #stopped: Promise<void> | null = null

  /** @internal Use `watchLocks`. */
  constructor(locks: Locks, { env, limits, everyMs, webhook, ended }: WatcherOptions) {
    this.#locks = locks
    this.#env = env
    this.#limits = limits
    this.#everyMs = everyMs
    this.#webhook = webhook
    this.#incidents = new Incidents(env, (alert) => this.#send(alert))
    this.#readings = new Readings(locks.stats(), env.now())
    this.#tokens = new TokenProgress(locks, env)
    this.#ends = [locks.attach(() => this.#closed()), ended]
    this.#begin()
  }

  /** Those that are on, with how long they have been. */
  get alerts(): readonly Alert[] {
    return this.#incidents.alerts
  }

  /** Puts other limits in the place of all, from now on: what is not given has its default again. */
  configure(limits: AlertLimits): void {
    const checked = checkLimits(limits)
    if (this.#stopped) return
    this.#limits = checked
    this.#incidents.end((kind) => this.#isOff(kind))
    if (checked.tokenJump === null) this.#tokens.stop()
    else this.#tokens.sample()
  }

  /** Every incident that is on is over by this. Resolves when the webhook was told, or after 5 s. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  /** The webhook is waited for last: no key stays held for it. */
  #closed(): () => Promise<void> {
    const stopped = this.stop()
    return () => stopped
  }

  async #stop(): Promise<void> {
    this.#env.clearTimer(this.#timer)
    this.#tokens.stop()
    for (const end of this.#ends) end()
    this.#incidents.close()
    await this.#webhook?.close()
  }

  #begin(): void {
    if (this.#limits.tokenJump !== null) this.#tokens.sample()
    this.#timer = this.#env.setTimer(this.#everyMs, () => this.#look(), true)
  }

  #look(): void {
    this.#begin()
    const [now, limits] = [this.#env.now(), this.#limits]
    const { heldTooLong, waitedTooLong } = limits
    const beyond = { heldMs: heldTooLong ?? Infinity, waitedMs: waitedTooLong ?? Infinity }
    const longest = this.#locks.longest(beyond, MOST_INCIDENTS)
    this.#readings.take(this.#locks.stats(), longest.unrenewed, now)
    const look = {
      now,
      store: this.#locks.identity.store,
      readings: this.#readings,
      longest,
      deviationMs: this.#tokens.deviationMs,
    }
    this.#incidents.see(findings(look, limits))
    if (!this.#stopped) this.#ask()
  }

  /** If there is nothing else to tell by: the call counts like any other, so that the next look sees how it went. */
  #ask(): void {
    const { isIdle, failingSince } = this.#readings
    if (this.#isAsking || this.#limits.storeUnreachable === null || (!isIdle && failingSince === null)) return
    this.#isAsking = true
    const asked = (): void => {
      this.#isAsking = false
    }
    this.#locks.health().then(asked, asked)
  }

  #isOff(kind: AlertKind): boolean {
    return this.#limits[LIMIT_OF[kind]] === null
  }

  #send(alert: Alert): void {
    this.#locks.alert(alert)
    this.#webhook?.send({ ...alert, ...this.#locks.identity, at: new Date().toISOString() })
  }
}
