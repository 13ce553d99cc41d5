import { heldUntil } from './checks/held.ts'
import type { Attempt, Round, Worker } from './checks/round.ts'
import { type Span, touches } from './checks/span.ts'
import type { Violation } from './violation.ts'

/** What a picture of a violation shows: who took part, what they had of the key, and what befell them. */
export interface Scene extends Span {
  readonly wrong: Span
  readonly rows: readonly Row[]
  /** On servers, the network, or all. */
  readonly faults: readonly Named[]
  readonly evictions: readonly number[]
}

export interface Row {
  readonly worker: string
  /** Each drawn below the one before. */
  readonly leases: readonly LeaseBar[]
  /** When the worker was stopped, cut off, or its event loop blocked. */
  readonly troubles: readonly Named[]
  readonly diedAt: number | null
}

export interface Named extends Span {
  readonly name: string
}

export interface LeaseBar {
  readonly token: bigint | null
  readonly ask: Span
  /** From the grant until it was held for certain. */
  readonly hold: Span | null
  /** From then on, until it was told of the loss or gave it back: nobody looked. */
  readonly unseen: Span | null
  readonly looks: readonly { readonly at: number; readonly held: boolean }[]
  readonly lostAt: number | null
  readonly releaseAt: number | null
  /** What the store said: when it answered, and from when to when the lease runs by that. */
  readonly confirmed: readonly { readonly at: number; readonly lease: Span }[]
}

const MAX_ROWS = 6
const MAX_LEASES = 5
const LONGEST_BEFORE_MS = 4000
const LONGEST_AFTER_MS = 2000

export function sceneOf(round: Round, { key, from, to, workers }: Violation): Scene {
  const wrong = { from, to }
  const shown = workers.slice(0, MAX_ROWS)
  const isShown = (attempt: Attempt): boolean =>
    shown.includes(attempt.by) && (key === null || attempt.keys.includes(key))
  const attempts = round.attempts.filter(isShown)
  const granted = attempts.filter(({ grantedAt }) => grantedAt !== null)
  const spans = granted.map(spanOf).filter((span) => touches(span, wrong))
  const start = Math.max(from - LONGEST_BEFORE_MS, Math.min(from - 50, ...spans.map((span) => span.from)))
  const end = Math.min(to + LONGEST_AFTER_MS, Math.max(to + 50, ...spans.map((span) => span.to)))
  const margin = 0.06 * (end - start)
  const view = { from: start - margin, to: end + margin }
  const faults = round.faults.filter((fault) => touches(fault, view))
  return {
    ...view,
    wrong,
    rows: shown.map((name) => {
      const own = attempts.filter(({ by }) => by === name)
      const worker = round.workers.get(name) ?? null
      const troubles = faults.filter(({ target }) => target === name).map(named)
      return rowOf(round, { name, worker, key, own, view, troubles })
    }),
    faults: faults.filter(({ target }) => !round.workers.has(target)).map(named),
    evictions: key === null ? [] : round.evictions.on(key).map((eviction) => eviction.from),
  }
}

interface RowParts {
  readonly name: string
  readonly worker: Worker | null
  readonly key: string | null
  readonly own: readonly Attempt[]
  readonly view: Span
  readonly troubles: readonly Named[]
}

function rowOf(round: Round, { name, worker, key, own, view, troubles }: RowParts): Row {
  const blocks = (worker?.blocks ?? []).filter((block) => touches(block, view))
  const inView = own.filter((attempt) => touches(spanOf(attempt), view))
  // Those who held it tell more than those who only asked.
  const chosen = [...inView].sort((a, b) => Number(a.grantedAt === null) - Number(b.grantedAt === null))
  const leases = chosen.slice(0, MAX_LEASES).sort((a, b) => a.askedAt - b.askedAt)
  return {
    worker: name,
    leases: leases.map((attempt) => leaseBar(round, attempt, key ?? attempt.keys[0] ?? '')),
    troubles: [...troubles, ...blocks.map((block) => ({ ...block, name: 'event loop blocked' }))],
    diedAt: worker?.died?.at ?? null,
  }
}

function named({ from, to, fault }: Span & { readonly fault: string }): Named {
  return { from, to, name: fault }
}

function leaseBar(round: Round, attempt: Attempt, key: string): LeaseBar {
  const { by, askedAt, grantedAt, refused, acts, lostAt, releaseAt, tokens, keys, how } = attempt
  const token = tokens[keys.indexOf(key)] ?? null
  const grant = token === null ? null : round.store.grant(key, Number(token / 1024n))
  const answered = how === 're-enter' ? [] : (grant?.confirmed ?? [])
  const until = heldUntil(attempt) ?? grantedAt
  const end = Math.min(lostAt ?? Infinity, releaseAt ?? Infinity, round.workers.get(by)?.died?.at ?? Infinity)
  return {
    token,
    ask: { from: askedAt, to: grantedAt ?? refused?.at ?? Infinity },
    hold: grantedAt === null || until === null ? null : { from: grantedAt, to: until },
    unseen: until === null || end <= until ? null : { from: until, to: end },
    looks: acts,
    lostAt,
    releaseAt,
    confirmed: answered.map(({ sentAt, repliedAt, leaseMs }) => ({
      at: repliedAt,
      lease: { from: sentAt, to: sentAt + leaseMs },
    })),
  }
}

function spanOf({ askedAt, grantedAt, refused, acts, lostAt, releaseAt }: Attempt): Span {
  const last = Math.max(
    grantedAt ?? refused?.at ?? askedAt,
    acts.at(-1)?.at ?? 0,
    lostAt ?? 0,
    releaseAt ?? 0,
  )
  return { from: grantedAt ?? askedAt, to: last }
}
