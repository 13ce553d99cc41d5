import type { Answer, RenewalAnswer } from '../../src/store.ts'
import type { Attempt } from './attempt.ts'
import type { Fact, NetworkFact } from './facts.ts'
import type { Call, CallItem } from './network.ts'
import type { SimulatedProcess } from './simulated-process.ts'

/** All that was said about one owner id. */
export interface OwnerBook {
  readonly owner: string
  readonly key: string
  readonly process: SimulatedProcess
  /** Every acquire call that named it. */
  readonly asks: Call[]
  /** Longest lease that was ever asked for in its name. */
  leaseMs: number
  /**
   * When its leases must end at the latest, on the clock of its process: counted from the send times
   * of those calls of which the store told this process that they were granted. -Infinity before.
   */
  deadline: number
  /** The same, only from answers that came within the time limit of a call: these must be used. */
  sureDeadline: number
  /** The store said that it does not have this owner any more: at some time, and within the limit. */
  refused: boolean
  surelyRefused: boolean
  /** An operator or an amnesia of the store took the key away; nobody promised to tell at once. */
  disturbed: boolean
  grantedAt: number | undefined
  /** Granted by a call that the network had delivered before. */
  grantedByCopy: boolean
  /** The last time that a lease under this owner was in somebody's hands. */
  inHandsAt: number | undefined
  /** Until when `atLeast` keeps the key on purpose, and by how much that may be less. */
  keptUntil: number
  keptLessMs: number
}

/** What the whole run knows, by owner and by grant. Facts come here before any invariant hears them. */
export class Ledger {
  readonly attempts: Attempt[] = []
  /** Attempts that hold a lease and have not given it back. */
  readonly inside: Set<Attempt> = new Set()
  /** Attempts that have asked and not been told yet. */
  readonly waiting: Set<Attempt> = new Set()
  readonly owners: Map<string, OwnerBook> = new Map()
  /** Processes whose client was told to close, and those where it is done. */
  readonly closing: Set<number> = new Set()
  readonly closed: Set<number> = new Set()
  /** By key, then by grant number. */
  readonly #ownerOfGrant = new Map<string, Map<number, string>>()
  /** Looked up after every step, but a token seldom changes. */
  readonly #books = new Map<Attempt, { readonly token: bigint; readonly book: OwnerBook | undefined }>()
  readonly #arrived = new Set<number>()
  /** Whether the message that the server works on came before. */
  #repeated = false
  readonly #processes: readonly SimulatedProcess[]
  readonly #time: () => number

  constructor(processes: readonly SimulatedProcess[], time: () => number) {
    this.#processes = processes
    this.#time = time
  }

  /** The owner under which an attempt holds its lease. */
  bookOf(attempt: Attempt): OwnerBook | undefined {
    const token = attempt.lease?.token
    if (token === undefined) return undefined
    const known = this.#books.get(attempt)
    if (known?.token === token) return known.book
    const owner = this.#ownerOfGrant.get(attempt.key)?.get(Number(token / 1024n))
    const book = this.owners.get(owner ?? '')
    this.#books.set(attempt, { token, book })
    return book
  }

  /** Whether it was granted by a message that no client could reckon with: a copy, or one very late. */
  isBeyondKnowing({ grantedByCopy, grantedAt = 0, asks, leaseMs, process }: OwnerBook): boolean {
    const { callTimeout, clockRate } = process.plan
    return grantedByCopy || grantedAt - (asks.at(-1)?.sentAt ?? 0) >= (leaseMs + callTimeout) / clockRate
  }

  isInHands({ key, owner }: OwnerBook): boolean {
    for (const attempt of this.inside) {
      if (attempt.key === key && this.bookOf(attempt)?.owner === owner) return true
    }
    return false
  }

  /** `held`, unless reading it could hide that no timer told the holder. */
  isHeld(attempt: Attempt): boolean {
    const { lease, process, signal } = attempt
    if (!lease || !signal) return false
    const mayRead = attempt.root.isRead || signal.aborted
    if (!mayRead && process.clockAt(process.time) > (this.bookOf(attempt)?.deadline ?? 0)) return false
    return lease.held
  }

  hear(fact: Fact): void {
    switch (fact.is) {
      case 'sent':
        if (fact.call.step === 'acquire') for (const item of fact.call.items) this.#asked(fact.call, item)
        break
      case 'arrived':
        this.#repeated = this.#arrived.has(fact.call.number)
        this.#arrived.add(fact.call.number)
        break
      case 'answered':
        this.#answered(fact)
        break
      case 'granted':
      case 'renewed': {
        let owners = this.#ownerOfGrant.get(fact.key)
        if (!owners) this.#ownerOfGrant.set(fact.key, (owners = new Map()))
        owners.set(fact.grant, fact.owner)
        const book = this.owners.get(fact.owner)
        if (book && fact.is === 'granted') {
          book.grantedAt = this.#time()
          book.grantedByCopy = this.#repeated
        }
        break
      }
      case 'evicted':
        this.#disturb((book) => book.owner === fact.owner)
        break
      case 'forgot':
        this.#disturb((book) => book.grantedAt !== undefined)
        break
      case 'asked':
        fact.attempt.isRead = this.attempts.length % 2 === 0
        this.attempts.push(fact.attempt)
        this.waiting.add(fact.attempt)
        break
      case 'entered':
        this.waiting.delete(fact.attempt)
        this.inside.add(fact.attempt)
        this.#entered(fact.attempt)
        break
      case 'left': {
        this.inside.delete(fact.attempt)
        const book = this.bookOf(fact.attempt)
        if (book) book.inHandsAt = this.#time()
        break
      }
      case 'settled':
        this.waiting.delete(fact.attempt)
        break
      case 'closing':
        this.closing.add(fact.process)
        break
      case 'closed':
        this.closed.add(fact.process)
        break
    }
  }

  #entered(attempt: Attempt): void {
    const { atLeast = 0 } = attempt.options
    const book = this.bookOf(attempt)
    if (!book || attempt.reenters || atLeast === 0) return
    const { process, enteredAt = 0 } = attempt
    book.keptUntil = Math.max(book.keptUntil, enteredAt + atLeast / process.plan.clockRate)
    // Core may have begun to count before its process was held up.
    book.keptLessMs = process.stalledMs - attempt.stalledMs
  }

  #asked(call: Call, { owner, key, leaseMs = 0 }: CallItem): void {
    const book = this.owners.get(owner)
    if (book) {
      book.asks.push(call)
      book.leaseMs = Math.max(book.leaseMs, leaseMs)
      return
    }
    this.owners.set(owner, {
      owner,
      key,
      process: this.#processes[call.process] as SimulatedProcess,
      asks: [call],
      leaseMs,
      deadline: -Infinity,
      sureDeadline: -Infinity,
      refused: false,
      surelyRefused: false,
      disturbed: false,
      grantedAt: undefined,
      grantedByCopy: false,
      inHandsAt: undefined,
      keptUntil: 0,
      keptLessMs: 0,
    })
  }

  #answered({ call, answers }: NetworkFact & { is: 'answered' }): void {
    if (call.step !== 'acquire' && call.step !== 'renew') return
    call.items.forEach((item, i) => {
      const book = this.owners.get(item.owner)
      const answer = answers[i] as Partial<Answer & RenewalAnswer> | undefined
      if (!book || !answer || !item.leaseMs) return
      const { process } = book
      const clock = process.clockAt(process.time)
      // A few milliseconds below the limit it is open which timer fires first.
      const inTime = clock - process.clockAt(call.begunAt) < process.plan.callTimeout - 10
      if (answer.renewed === false) {
        book.refused = true
        book.surelyRefused ||= inTime
      }
      if (answer.granted !== true && answer.renewed !== true) return
      const deadline = call.sentClock + item.leaseMs - marginOf(item.leaseMs)
      book.leaseMs = Math.max(book.leaseMs, item.leaseMs)
      book.deadline = Math.max(book.deadline, deadline)
      // A confirmation that comes after the deadline before it brings nothing back.
      const inForce = answer.granted === true || clock < book.sureDeadline
      if (inTime && inForce) book.sureDeadline = Math.max(book.sureDeadline, deadline)
    })
  }

  #disturb(concerns: (book: OwnerBook) => boolean): void {
    for (const book of this.owners.values()) {
      if (concerns(book)) book.disturbed = true
    }
  }
}

/** As documented; written down again on purpose, so that core cannot change it unnoticed. */
export function marginOf(leaseMs: number): number {
  return Math.min(Math.max(leaseMs * 0.05, 50), leaseMs * 0.25)
}
