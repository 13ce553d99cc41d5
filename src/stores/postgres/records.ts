import type {
  Answer,
  Ask,
  Claim,
  Holder,
  LockRecord,
  ReleaseAnswer,
  Renewal,
  RenewalAnswer,
} from '../../store.ts'
import { arrayOf } from './statements.ts'

/** A row of the answer: text, or null. Some drivers turn a boolean into one before we see it. */
export type Row = readonly unknown[]

/** The parameters of acquireOne. JSON: a holder may say of itself what PostgreSQL has no text for. */
export function askValue(
  { key, owner, leaseMs, holder }: Ask,
  waiter: string | null,
  waits: boolean,
): (string | null)[] {
  return [key, owner, String(Math.ceil(leaseMs)), JSON.stringify(holder), waiter, String(waits)]
}

/** The parameters of acquire. */
export function askValues(
  asks: readonly Ask[],
  waiter: string | null,
  waiting: readonly string[],
): (string | null)[] {
  const holders = new Map<Holder, number>()
  const places = asks.map(({ holder }) => {
    const place = holders.get(holder) ?? holders.size + 1
    holders.set(holder, place)
    return place
  })
  return [
    arrayOf(asks.map(({ key }) => key)),
    arrayOf(asks.map(({ owner }) => owner)),
    arrayOf(asks.map(({ leaseMs }) => Math.ceil(leaseMs))),
    arrayOf(places),
    waiter,
    arrayOf(waiting),
    arrayOf([...holders.keys()].map((holder) => JSON.stringify(holder))),
  ]
}

export function renewalValues(renewals: readonly Renewal[]): string[] {
  return [
    ...claimValues(renewals),
    arrayOf(renewals.map(({ leaseMs }) => Math.ceil(leaseMs))),
    arrayOf(renewals.map(({ rotate }) => rotate ?? false)),
    arrayOf(renewals.map(({ raiseTo }) => raiseTo ?? 0)),
  ]
}

export function claimValues(claims: readonly Claim[]): string[] {
  return [arrayOf(claims.map(({ key }) => key)), arrayOf(claims.map(({ owner }) => owner))]
}

/**
 * All granted, in the order of the asks, and nobody's lease had run out: then the server sends only the numbers.
 * Else a list of `[key, grant, owner, holder, remainingMs]`.
 */
export function answersTo(asks: readonly Ask[], [row]: readonly Row[]): Answer[] {
  const grants = grantsIn(row)
  if (grants) return grants.map((grant) => ({ granted: true, grant, previous: null }))
  return inOrder(asks, row?.[0], (answer, ask) => {
    if (!answer) throw new Error('the server gave no answer for a key')
    const [, grant, owner, holder, remainingMs] = answer
    return owner === ask.owner
      ? { granted: true, grant: Number(grant), previous: holder === null ? null : holderOf(holder) }
      : { granted: false, retryInMs: Math.max(0, Number(remainingMs)), holder: holderOf(holder) }
  })
}

/** As above, with `[key, grant]`. */
export function renewalAnswersTo(renewals: readonly Renewal[], [row]: readonly Row[]): RenewalAnswer[] {
  const grants = grantsIn(row)
  if (grants) return grants.map(renewalAnswer)
  return inOrder(renewals, row?.[0], (answer) => renewalAnswer(Number(answer?.[1] ?? 0)))
}

/** The number of a record that was not there is not above 0. */
function renewalAnswer(grant: number): RenewalAnswer {
  return grant > 0 ? { renewed: true, grant } : { renewed: false }
}

/** Null if all were in force and nobody wants any of them, else a list of `[key, released, wanted]`. */
export function releaseAnswersTo(claims: readonly Claim[], [row]: readonly Row[]): ReleaseAnswer[] {
  if (row?.[0] === null) return claims.map(() => ({ released: true, wanted: false }))
  return inOrder(claims, row?.[0], (answer) => ({
    released: answer?.[1] === true,
    wanted: answer?.[2] === true,
  }))
}

export function recordOf([key, grant, holder, since, leaseMs, remainingMs, wanted]: Row): LockRecord {
  return {
    key: String(key),
    grant: Number(grant),
    holder: holderOf(holder),
    since: Math.floor(Number(since)),
    leaseMs: Number(leaseMs),
    remainingMs: Number(remainingMs),
    wanted: isTrue(wanted),
  }
}

function grantsIn(row: Row | undefined): number[] | undefined {
  const grants = row?.[0]
  return typeof grants === 'string' && !grants.startsWith('[') ? grants.split(',').map(Number) : undefined
}

/** Answers come in any order, and only for keys that something was done with. */
function inOrder<I extends { readonly key: string }, O>(
  items: readonly I[],
  json: unknown,
  read: (answer: Row | undefined, item: I) => O,
): O[] {
  const answers = typeof json === 'string' ? (JSON.parse(json) as Row[]) : []
  const byKey = new Map(answers.map((answer) => [answer[0], answer]))
  return items.map((item) => read(byKey.get(item.key), item))
}

function isTrue(value: unknown): boolean {
  return value === true || value === 't' || value === 'true'
}

function holderOf(json: unknown): Holder {
  const { service, instance, context } = (typeof json === 'string' ? JSON.parse(json) : json) as Holder
  return { service, instance, context }
}
