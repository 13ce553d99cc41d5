import { check, examine, type Examined } from '../torture/check.ts'
import type { Entry, Happening } from '../torture/history.ts'

interface HoldOptions {
  readonly key?: string
  readonly from: number
  readonly to: number
  readonly grant: number
  readonly handOff?: number
  readonly leaseMs?: number
  readonly how?: 'acquire' | 'try' | 'using' | 're-enter'
  readonly askedAt?: number
  readonly waitMs?: number
  /** Whether the store heard of it and of its end. */
  readonly asks?: boolean
  readonly releases?: boolean
  /** False: the store could not be told of its end. */
  readonly ok?: boolean
}

interface StepOptions {
  readonly step: 'acquire' | 'renew' | 'release'
  readonly owner: string
  readonly sentAt: number
  /** Without: no reply ever came. */
  readonly repliedAt?: number
  readonly answer?: number | 'yes' | 'no' | 'fault'
  readonly key?: string
  readonly leaseMs?: number
}

/** A history made by hand. */
export class Story {
  readonly #entries: Entry[] = []
  /** By token. */
  readonly #writers = new Map<number, number>()
  #numbers = 0

  note(at: number, by: string, happening: Happening): this {
    this.#entries.push({ at, by, ...happening })
    return this
  }

  /** A lease as it should be: asked for, granted, looked at when it begins and when it ends, released. */
  hold(by: string, options: HoldOptions): this {
    const { key = 'k', from, to, grant, handOff = 0, leaseMs = 1000, how = 'acquire' } = options
    const { askedAt = from - 10, waitMs = 5000, asks = true, releases = true, ok = true } = options
    const id = this.#number()
    const owner = `owner ${grant}`
    const token = String(BigInt(grant) * 1024n + BigInt(handOff))
    if (!this.#entries.some((entry) => entry.is === 'born' && entry.by === by)) this.born(by, 0)
    this.note(askedAt, by, { is: 'ask', id, how, keys: [key], waitMs, leaseMs })
    if (asks) {
      this.step(by, {
        step: 'acquire',
        owner,
        sentAt: from - 5,
        repliedAt: from - 1,
        answer: grant,
        key,
        leaseMs,
      })
    }
    this.note(from, by, { is: 'granted', id, tokens: [token] })
    for (const at of [from + 1, to - 1]) this.note(at, by, { is: 'act', id, key, token, held: true })
    this.note(to, by, { is: 'release', id })
    if (releases) this.step(by, { step: 'release', owner, sentAt: to, repliedAt: to + 1, answer: 'yes', key })
    if (ok) return this.note(to + 2, by, { is: 'released', id, ok })
    return this.note(to + 2, by, { is: 'released', id, ok: null, code: 'LOCK_RELEASE_FAILED' })
  }

  step(by: string, { step, owner, sentAt, repliedAt, answer, key = 'k', leaseMs = 1000 }: StepOptions): this {
    const call = this.#number()
    const claim = step === 'release' ? { key, owner } : { key, owner, leaseMs }
    this.note(sentAt, by, { is: 'call', call, step, claims: [claim] })
    if (repliedAt === undefined) return this
    return this.note(repliedAt, by, { is: 'reply', call, answers: [answer ?? 'no'] })
  }

  /** Asks, and is not heard of again. */
  ask(by: string, at: number, waitMs = 1000, key = 'k'): number {
    const id = this.#number()
    this.note(at, by, { is: 'ask', id, how: 'acquire', keys: [key], waitMs, leaseMs: 1000 })
    return id
  }

  born(by: string, at: number): this {
    return this.note(at, by, { is: 'born', pid: 1 })
  }

  died(worker: string, at: number, code = '0', wanted = true): this {
    return this.note(at, 'nemesis', { is: 'died', worker, code, wanted })
  }

  /** SIGSTOP, until SIGCONT. */
  pause(target: string, from: number, to: number): this {
    return this.#fault(from, to, { fault: 'worker paused', target, loses: false })
  }

  /** Under a lease with that token, of which nothing else is told. */
  write(at: number, token: number, guarded: 'taken' | 'stale'): this {
    const id = this.#writers.get(token) ?? this.#writer(token)
    const rest = { worker: 'w1', id, key: 'k', guarded }
    return this.note(at, 'resource', { is: 'written', token: String(token), ...rest })
  }

  #writer(token: number): number {
    const id = this.#number()
    this.#writers.set(token, id)
    this.note(0, 'w1', { is: 'ask', id, how: 'try', keys: ['k'], waitMs: 0, leaseMs: 1000 })
    this.note(0, 'w1', { is: 'granted', id, tokens: [String(token)] })
    return id
  }

  fault(from: number, to: number, options: { loses?: boolean; target?: string } = {}): this {
    const { loses = false, target = 'all' } = options
    return this.#fault(from, to, { fault: 'flush', target, loses })
  }

  #fault(from: number, to: number, what: { fault: string; target: string; loses: boolean }): this {
    const fault = { is: 'fault', number: this.#number(), ...what } as const
    return this.note(from, 'nemesis', { ...fault, phase: 'begin' }).note(to, 'nemesis', {
      ...fault,
      phase: 'end',
    })
  }

  evict(from: number, to: number, grant: number | null): this {
    const eviction = { is: 'evict', key: 'k', number: this.#number() } as const
    this.note(from, 'nemesis', { ...eviction, phase: 'begin', grant: null })
    return this.note(to, 'nemesis', { ...eviction, phase: 'end', grant })
  }

  /** With an end as it should be, if it has none of its own. */
  get entries(): Entry[] {
    const entries = this.#entries.toSorted((a, b) => a.at - b.at)
    const end = { at: (entries.at(-1)?.at ?? 0) + 1, by: 'nemesis' }
    if (!entries.some(({ is }) => is === 'calm')) entries.push({ ...end, is: 'calm' })
    if (!entries.some(({ is }) => is === 'listed')) entries.push({ ...end, is: 'listed', locks: [] })
    if (!entries.some(({ is }) => is === 'left')) entries.push({ ...end, is: 'left', locks: [] })
    return entries
  }

  /** Which guarantees it breaks, each once. */
  get broken(): string[] {
    return [...new Set(check(this.entries).map(({ guarantee }) => guarantee))].sort()
  }

  get figures(): Examined['figures'] {
    return examine(this.entries).figures
  }

  #number(): number {
    this.#numbers += 1
    return this.#numbers
  }
}
