import { type Channel, channel } from 'node:diagnostics_channel'
import type { Alert } from './alerts/alert.ts'
import type { TermEnd } from './election/term.ts'
import { LockError, show } from './errors.ts'
import type { StepName } from './monitor/steps.ts'
import { runOutside } from './section.ts'
import { isThenable } from './thenable.ts'
import type { Holder, LockRecord } from './store.ts'

/** What `locks.on` reports. Each fires after the fact; no listener can change what happens. */
export interface LockEvents {
  /** A lease was given out. `takenOver`: the key was not free, its holder's lease had run out. */
  granted: {
    key: string
    token: bigint
    waitedMs: number
    takenOver: boolean
    previous: Holder | null
    /** From the holder before in this process, without a store call. */
    handedOff: boolean
  }
  /** A holder gave its lease back in time. */
  released: { key: string; token: bigint; heldMs: number }
  /** A holder lost its lease. `reason` is what its `signal` was aborted with. */
  lost: { key: string; token: bigint; heldMs: number; reason: LockError }
  /** A waiter gave up because its wait was over. `holder`: who held the key when last asked. */
  timeout: { key: string; waitedMs: number; holder: Holder | null }
  /** A waiter was denied the key for the first time, because `holder` has it. */
  conflict: { key: string; holder: Holder; retryInMs: number }
  /** A renewal failed or was not answered in time; it is tried again while `remainingMs` last. */
  'renewal-failed': { key: string; token: bigint; remainingMs: number; error: LockError }
  /** `forceRelease` of this client freed a key. */
  evicted: { key: string; record: LockRecord }
  /** This process leads: its term begins. */
  elected: { name: string; number: number; token: bigint }
  /** A term of this process is over; its key is given back next. `error`: what the body threw, of its own accord. */
  'term-ended': {
    name: string
    number: number
    token: bigint
    why: TermEnd
    lastedMs: number
    error: unknown
  }
  /** The body of a term still runs, that long after it was told to stop. Once for each term. */
  'term-overrun': { name: string; number: number; token: bigint; overdueMs: number }
  /** A call of the store ended. Of one that failed before it was sent, `tookMs` is how long that took. */
  'store-call': { step: StepName; keys: number; tookMs: number; error: LockError | null }
  /** A limit that was given to `watchLocks` is passed, or is kept again. */
  alert: Alert
  /** The store became unreachable, a release could not be confirmed, a configuration was refused, or a listener threw. */
  error: { error: LockError }
}

export type LockEvent = keyof LockEvents
export type LockListener<E extends LockEvent> = (event: LockEvents[E]) => void

/** Which client an event of a diagnostics channel is from: a channel is one for the process. */
export interface ClientName {
  readonly store: string
  readonly service: string
  readonly instance: string
}

const EVENTS: readonly LockEvent[] = [
  'granted',
  'released',
  'lost',
  'timeout',
  'conflict',
  'renewal-failed',
  'evicted',
  'elected',
  'term-ended',
  'term-overrun',
  'store-call',
  'alert',
  'error',
]

/** For those who would rather not hold the client: `holdfast:granted` and so on. */
const CHANNELS = EVENTS.map((event) => [event, channel(`holdfast:${event}`)] as const)

interface Topic {
  readonly listeners: Set<(event: never) => void>
  readonly channel: Channel
}

/** Told what a listener threw, and whether it is the first time for this one. */
type OnBroken = (event: LockEvent, cause: unknown, isFirst: boolean) => void

/** A typed emitter that a listener cannot break, and where `error` without a listener is harmless. */
export class Events {
  readonly #topics: ReadonlyMap<string, Topic> = new Map(
    CHANNELS.map(([event, published]) => [event, { listeners: new Set(), channel: published }]),
  )
  readonly #client: () => ClientName
  readonly #onBroken: OnBroken
  /** Those that have thrown. */
  readonly #broken = new WeakSet<object>()

  constructor(client: () => ClientName, onBroken: OnBroken) {
    this.#client = client
    this.#onBroken = onBroken
  }

  on<E extends LockEvent>(event: E, listener: LockListener<E>): () => void {
    const topic = this.#topics.get(event)
    if (!topic) {
      throw new LockError(
        'INVALID_OPTION',
        `on: unknown event ${show(event)}; known are ${EVENTS.join(', ')}`,
      )
    }
    if (typeof listener !== 'function')
      throw new LockError('INVALID_OPTION', 'on: the listener must be a function')
    // A wrapper of its own, so that a function added twice is called twice and removed one by one.
    const entry = (payload: LockEvents[E]): void => listener(payload)
    topic.listeners.add(entry)
    return () => topic.listeners.delete(entry)
  }

  /** Asked before a payload is built, so that nobody pays for events that nobody hears. */
  heard(event: LockEvent): boolean {
    const { listeners, channel } = this.#topics.get(event) as Topic
    return listeners.size > 0 || channel.hasSubscribers
  }

  emit<E extends LockEvent>(event: E, payload: LockEvents[E]): void {
    // A copy: those added by a listener hear of the next event, not of this one.
    const topic = this.#topics.get(event) as Topic
    const listeners = [...topic.listeners] as LockListener<E>[]
    if (listeners.length > 0)
      runOutside(() => listeners.forEach((listener) => this.#tell(event, listener, payload)))
    if (topic.channel.hasSubscribers)
      runOutside(() => topic.channel.publish({ client: this.#client(), ...payload }))
  }

  #tell<E extends LockEvent>(event: E, listener: LockListener<E>, payload: LockEvents[E]): void {
    try {
      const result: unknown = listener(payload)
      if (isThenable(result)) result.then(undefined, (error: unknown) => this.#broke(event, listener, error))
    } catch (error) {
      this.#broke(event, listener, error)
    }
  }

  clear(): void {
    for (const { listeners } of this.#topics.values()) listeners.clear()
  }

  #broke(event: LockEvent, listener: object, cause: unknown): void {
    const isFirst = !this.#broken.has(listener)
    this.#broken.add(listener)
    this.#onBroken(event, cause, isFirst)
  }
}
