import type { Environment } from '../environment.ts'
import { describeError, LockError, onOneLine } from '../errors.ts'
import type { Events, LockEvent, LockEvents } from '../events.ts'
import { runOutside } from '../section.ts'
import { isThenable } from '../thenable.ts'
import type { Denial, Holder, LockRecord } from '../store.ts'
import type { Alert } from '../alerts/alert.ts'
import type { Stats } from './stats.ts'
import type { StepName } from './steps.ts'

/** What `console` and pino have in common. Each line is one finished string. */
export interface Logger {
  debug?(message: string): void
  info?(message: string): void
  warn?(message: string): void
  error?(message: string): void
}

/** An incident is over when the store answers and has not failed for this long: some flicker. */
const CALM_MS = 10_000

/** A lease as far as reports are concerned. */
interface Reported {
  readonly key: string
  readonly token: bigint
  readonly heldMs: number
}

/** Without a logger people still hear of a loss, of a store that is down, and of mistakes that nothing else would show. */
export const WARNINGS_ONLY: Logger = { warn: (message) => console.warn(message) }

/** The one place that turns what happened into counters, events and log lines. */
export class Journal {
  readonly stats: Stats
  readonly #events: Events
  readonly #logger: Logger
  readonly #env: Environment
  /** When the store last failed in the incident that is on; null while there is none. */
  #lastFailureAt: number | null = null

  constructor(env: Environment, stats: Stats, events: Events, logger: Logger) {
    this.#env = env
    this.stats = stats
    this.#events = events
    this.#logger = logger
  }

  granted(lease: Reported, waitedMs: number, how: { previous: Holder | null; handedOff: boolean }): void {
    const { counters } = this.stats
    const { previous, handedOff } = how
    counters.granted += 1
    if (handedOff) counters.handedOff += 1
    if (previous) counters.takenOver += 1
    this.stats.wait.record(waitedMs)
    if (this.#events.heard('granted')) {
      const { key, token } = lease
      this.#events.emit('granted', {
        key,
        token,
        waitedMs,
        takenOver: previous !== null,
        previous,
        handedOff,
      })
    }
    if (previous && this.#logger.info) {
      this.#log(
        'info',
        `took "${lease.key}" over from ${nameOf(previous)}, whose lease had run out; token ${lease.token}`,
      )
    } else if (this.#logger.debug) {
      const from = handedOff ? 'was handed on inside this process' : 'was free'
      this.#log(
        'debug',
        `got "${lease.key}", which ${from}; token ${lease.token}, waited ${round(waitedMs)} ms`,
      )
    }
  }

  reentered(): void {
    this.stats.counters.granted += 1
    this.stats.counters.reentered += 1
    this.stats.wait.record(0)
  }

  /** So many requests met a holder of that service, or with null one of this process. */
  conflicted(key: string, holder: string | null, count: number): void {
    this.stats.conflicts.add(holder, count)
    this.stats.busyKeys.conflicted(key, count)
  }

  denied(key: string, denial: Denial): void {
    const { holder, retryInMs } = denial
    if (this.#events.heard('conflict')) this.#events.emit('conflict', { key, holder, retryInMs })
    if (this.#logger.debug) {
      this.#log(
        'debug',
        `"${key}" is held by ${nameOf(holder)}, for at most ${round(retryInMs)} ms unless renewed`,
      )
    }
  }

  timedOut({ key, waitedMs, holder }: LockEvents['timeout']): void {
    this.stats.counters.timedOut += 1
    if (this.#events.heard('timeout')) this.#events.emit('timeout', { key, waitedMs, holder })
    if (this.#logger.debug) {
      const by = holder ? `; held by ${nameOf(holder)}` : ''
      this.#log('debug', `gave up on "${key}" after ${round(waitedMs)} ms${by}`)
    }
  }

  released(lease: Reported): void {
    this.stats.counters.released += 1
    this.stats.hold.record(lease.heldMs)
    if (this.#events.heard('released')) {
      this.#events.emit('released', { key: lease.key, token: lease.token, heldMs: lease.heldMs })
    }
    if (this.#logger.debug) this.#log('debug', `released "${lease.key}" after ${round(lease.heldMs)} ms`)
  }

  lost(lease: Reported, reason: LockError): void {
    const { key, token, heldMs } = lease
    this.stats.counters.lost += 1
    this.stats.hold.record(heldMs)
    this.#events.emit('lost', { key, token, heldMs, reason })
    this.#log('warn', `lost "${key}" after ${round(heldMs)} ms: ${reason.message}`)
  }

  renewed(): void {
    this.stats.counters.renewals += 1
  }

  renewalFailed(lease: Reported & { readonly remainingMs: number }, error: LockError): void {
    const { key, token, remainingMs } = lease
    this.stats.counters.renewalFailures += 1
    if (this.#events.heard('renewal-failed'))
      this.#events.emit('renewal-failed', { key, token, remainingMs, error })
    if (this.#logger.info) {
      this.#log(
        'info',
        `renewal of "${key}" failed, ${round(remainingMs)} ms left to try again: ${error.message}`,
      )
    }
  }

  evicted(key: string, record: LockRecord): void {
    this.stats.counters.evicted += 1
    this.#events.emit('evicted', { key, record })
    this.#log(
      'info',
      `freed "${key}" by force; it was held by ${nameOf(record.holder)}, grant ${record.grant}`,
    )
  }

  elected(term: LockEvents['elected']): void {
    this.#events.emit('elected', term)
    this.#log('info', `leads "${term.name}"; term ${term.number}, token ${term.token}`)
  }

  termEnded(term: LockEvents['term-ended']): void {
    const { name, why, lastedMs, error } = term
    this.#events.emit('term-ended', term)
    const over = `leads "${name}" no more after ${round(lastedMs)} ms: ${why}`
    if (error === undefined && why !== 'failed') this.#log('info', over)
    else this.#log('warn', `${over}, with an error: ${describeError(error)}`)
  }

  termOverran(term: LockEvents['term-overrun']): void {
    this.#events.emit('term-overrun', term)
    const { name, number, overdueMs } = term
    this.#log(
      'warn',
      `term ${number} of "${name}" still runs ${round(overdueMs)} ms after it was told to stop; ` +
        'it should heed its signal, and not wait for its own resign() or stop()',
    )
  }

  storeAnswered(step: StepName, keys: number, tookMs: number): void {
    this.stats.counters.storeCalls += 1
    this.stats.steps[step].answered(keys, tookMs)
    if (this.#events.heard('store-call')) this.#events.emit('store-call', { step, keys, tookMs, error: null })
    if (this.#lastFailureAt === null || this.#env.now() - this.#lastFailureAt < CALM_MS) return
    this.#lastFailureAt = null
    this.#log('info', 'the store answers again')
  }

  storeFailed(step: StepName, keys: number, tookMs: number, error: LockError): void {
    this.stats.counters.storeCalls += 1
    this.stats.counters.storeFailures += 1
    this.stats.steps[step].failed(keys)
    if (this.#events.heard('store-call')) this.#events.emit('store-call', { step, keys, tookMs, error })
    // Once per incident: every waiter and every renewal fails while a store is down.
    const known = this.#lastFailureAt !== null
    this.#lastFailureAt = this.#env.now()
    if (known) return
    this.#events.emit('error', { error })
    this.#log('warn', withCause(error))
  }

  alert(alert: Alert): void {
    this.#events.emit('alert', alert)
    this.#log(alert.state === 'on' ? 'warn' : 'info', alert.message)
  }

  /** A fault that no caller waits for. */
  fault(error: LockError): void {
    this.#events.emit('error', { error })
    this.#log('info', error.message)
  }

  /** A mistake of the caller that only shows when all is over. */
  warning(error: LockError): void {
    this.#events.emit('error', { error })
    this.#log('warn', error.message)
  }

  /** An event each time, and a line the first time: a listener of a busy event would fill the log. */
  listenerBroke(event: LockEvent, cause: unknown, isFirst: boolean): void {
    const error = new LockError('INVALID_OPTION', `a listener of '${event}' threw`, { cause })
    // A listener of `error` would be told of itself, without end.
    if (event !== 'error') this.#events.emit('error', { error })
    if (isFirst) this.#log('warn', withCause(error))
  }

  // A logger is foreign code: it may throw, and must not break a lock by it.
  #log(level: 'debug' | 'info' | 'warn', message: string): void {
    try {
      const result: unknown = runOutside(() => this.#logger[level]?.(`holdfast: ${onOneLine(message)}`))
      if (isThenable(result)) result.then(undefined, () => {})
    } catch {
      // There is nowhere left to report to.
    }
  }
}

/** On one line of a log or a message: a context is any text, and what others wrote into the store may be, too. */
export function nameOf(holder: Holder): string {
  const why = holder.context === null ? '' : ` (${holder.context})`
  return `${holder.service} ${holder.instance}${why}`.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
}

/** A store often has the words of its driver in its own. */
function withCause({ message, cause }: LockError): string {
  const why = cause === undefined ? '' : describeError(cause)
  return message.includes(why) ? message : `${message}: ${why}`
}

function round(ms: number): number {
  return Math.round(ms)
}
