import { LockError } from '../errors.ts'
import type { Locks } from '../locks.ts'
import type { ConfiguredAlerts } from './alerts.ts'
import { check, type Terms } from './check.ts'
import type { Feed, News } from './feed.ts'
import { invalid, invalidIn } from './problems.ts'
import type { Settings } from './settings.ts'
import { sameStore } from './store.ts'

/** Brings changes of a configuration to a client that runs. */
export class Reload {
  readonly #locks: Locks
  readonly #feed: Feed
  readonly #terms: Terms
  readonly #alerts: ConfiguredAlerts
  /** What the client was made with. */
  readonly #start: Settings
  #applied: string
  #reported = ''
  #ended = false

  constructor(locks: Locks, feed: Feed, alerts: ConfiguredAlerts, terms: Terms, start: Settings) {
    this.#locks = locks
    this.#feed = feed
    this.#alerts = alerts
    this.#terms = terms
    this.#start = start
    this.#applied = markOf(start)
  }

  begin(): void {
    this.#locks.attach(async () => {
      this.#ended = true
      await this.#feed.close()
    })
    this.#feed.follow((news) => this.#take(news))
  }

  /** All of a change or nothing of it: half of one is what nobody has written. */
  async #take(news: News): Promise<void> {
    try {
      if ('error' in news) throw news.error
      const { settings } = await check(news.value, this.#terms)
      if (this.#ended) return
      const mark = markOf(settings)
      if (mark !== this.#applied) this.#locks.configure(settings.defaults)
      this.#applied = mark
      const late = this.#needRestart(settings)
      if (!this.#alerts.apply(settings.alerts))
        late.push('the webhook of alerts, its secret, or alerts.every')
      if (late.length === 0) this.#reported = ''
      else
        this.#report(
          invalid(`${this.#feed.name}: a change of ${late.join(', ')} needs a restart; all else is in force`),
        )
    } catch (error) {
      // It may be closing, and has not told us yet.
      const isClosed = error instanceof LockError && error.code === 'CLOSED'
      if (!this.#ended && !isClosed)
        this.#report(invalidIn(this.#feed.name, error, '; the last valid settings stay in force'))
    }
  }

  #needRestart({ store, service, instance, callTimeout }: Settings): string[] {
    const start = this.#start
    return [
      ...(sameStore(store, start.store) ? [] : ['store']),
      ...(service === start.service ? [] : ['service']),
      ...(instance === start.instance ? [] : ['instance']),
      ...(callTimeout === start.callTimeout ? [] : ['callTimeout']),
    ]
  }

  /** Not twice in a row: a source may give the same again and again. */
  #report(error: LockError): void {
    if (error.message === this.#reported) return
    this.#reported = error.message
    this.#locks.report(error)
  }
}

function markOf({ defaults }: Settings): string {
  // JSON has no Infinity.
  return JSON.stringify(defaults, (_, value: unknown) => (value === Infinity ? 'Infinity' : value))
}
