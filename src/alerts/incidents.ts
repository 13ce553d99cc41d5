import type { Environment } from '../environment.ts'
import type { Alert, AlertKind } from './alert.ts'
import type { Finding } from './findings.ts'

/** Of one kind at once. */
export const MOST_INCIDENTS = 20

/** What wavers around its limit is over when it has kept it for this long. The others cannot begin again at once. */
const CALM_MS: Partial<Record<AlertKind, number>> = {
  'waited-too-long': 30_000,
  'failure-rate': 30_000,
  conflicts: 30_000,
  'renewals-failing': 30_000,
  // Some keys go on from where they were, others follow the clock.
  'token-jump': 30_000,
}

interface Incident {
  readonly id: string
  readonly beganAt: number
  seenAt: number
  /** As it was seen last. */
  finding: Finding
}

/** Makes one alert of all looks that see the same, and one when none does any more. */
export class Incidents {
  readonly #env: Environment
  readonly #send: (alert: Alert) => void
  readonly #on = new Map<string, Incident>()
  #isClosed = false

  constructor(env: Environment, send: (alert: Alert) => void) {
    this.#env = env
    this.#send = send
  }

  /** Those that are on. */
  get alerts(): Alert[] {
    return [...this.#on.values()].map((incident) => this.#alert(incident, 'on'))
  }

  see(findings: readonly Finding[]): void {
    const now = this.#env.now()
    for (const finding of findings) {
      // A listener may have closed it just now.
      if (this.#isClosed) return
      const name = `${finding.kind} ${finding.key ?? ''}`
      const known = this.#on.get(name)
      if (known) Object.assign(known, { finding, seenAt: now })
      else if (this.#count(finding.kind) < MOST_INCIDENTS) this.#begin(name, finding, now)
    }
    for (const [name, { seenAt, finding }] of this.#on)
      if (seenAt < now && now - seenAt >= (CALM_MS[finding.kind] ?? 0)) this.#end(name)
  }

  /** Also those that are still so: nobody looks at them from now on. */
  end(isEnding: (kind: AlertKind) => boolean): void {
    for (const [name, { finding }] of this.#on)
      if (isEnding(finding.kind)) this.#end(name, 'not watched now, ')
  }

  close(): void {
    this.#isClosed = true
    this.end(() => true)
  }

  #begin(name: string, finding: Finding, now: number): void {
    const incident = { id: this.#env.newId(), beganAt: now, seenAt: now, finding }
    this.#on.set(name, incident)
    this.#send(this.#alert(incident, 'on'))
  }

  #end(name: string, why = ''): void {
    const incident = this.#on.get(name)!
    this.#on.delete(name)
    const alert = this.#alert(incident, 'over')
    const message = `${why}over after ${Math.round(alert.lastedMs / 1000)} s: ${alert.message}`
    this.#send({ ...alert, message })
  }

  #count(kind: AlertKind): number {
    return [...this.#on.values()].filter(({ finding }) => finding.kind === kind).length
  }

  #alert({ id, beganAt, finding }: Incident, state: Alert['state']): Alert {
    const { kind, key, value, limit, message } = finding
    const lastedMs = this.#env.now() - beganAt
    return { kind, state, incident: id, key, value, limit, message, lastedMs }
  }
}
