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

/** The parameters of acquire. */
export function askValues(
  asks: readonly Ask[],
  waiter: string | null,
  waiting: readonly string[],
): (string | null)[] {
  // JSON: a holder may say of itself what PostgreSQL has no text for.
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
  ]
}

export function claimValues(claims: readonly Claim[]): string[] {
  return [arrayOf(claims.map(({ key }) => key)), arrayOf(claims.map(({ owner }) => owner))]
}

export function answersTo(asks: readonly Ask[], rows: readonly Row[]): Answer[] {
  return inOrder(asks, rows, (row, ask) => {
    if (!row) throw new Error('the server gave no answer for a key')
    const [, grant, owner, holder, remainingMs] = row
    return owner === ask.owner
      ? { granted: true, grant: Number(grant), previous: holder === null ? null : holderOf(holder) }
      : { granted: false, retryInMs: Math.max(0, Number(remainingMs)), holder: holderOf(holder) }
  })
}

export function renewalAnswersTo(renewals: readonly Renewal[], rows: readonly Row[]): RenewalAnswer[] {
  return inOrder(renewals, rows, (row) => {
    // The number of a record that was not there is 0.
    const grant = Number(row?.[1] ?? 0)
    return grant > 0 ? { renewed: true, grant } : { renewed: false }
  })
}

export function releaseAnswersTo(claims: readonly Claim[], rows: readonly Row[]): ReleaseAnswer[] {
  return inOrder(claims, rows, (row) => ({ released: isTrue(row?.[1]), wanted: isTrue(row?.[2]) }))
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

/** Rows come in any order, and only for keys that something was done with. */
function inOrder<I extends { readonly key: string }, O>(
  items: readonly I[],
  rows: readonly Row[],
  read: (row: Row | undefined, item: I) => O,
): O[] {
  const byKey = new Map(rows.map((row) => [row[0], row]))
  return items.map((item) => read(byKey.get(item.key), item))
}

function isTrue(value: unknown): boolean {
  return value === true || value === 't' || value === 'true'
}

function holderOf(json: unknown): Holder {
  const { service, instance, context } = JSON.parse(String(json)) as Holder
  return { service, instance, context }
}
