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
import { hexOf, textOfHex } from './expressions.ts'

/** The fields of one answer, without the key. */
type Fields = readonly string[]

/** Where there is no value. */
const NONE = '-'

/** `owner, grant, previous, holder, remaining`. */
export function answersTo(asks: readonly Ask[], rows: readonly string[]): Answer[] {
  return inOrder(asks, rows, ({ owner }, [holds, grant, previous = NONE, holder = NONE, left]) =>
    holds === hexOf(owner)
      ? { granted: true, grant: Number(grant), previous: previous === NONE ? null : holderOf(previous) }
      : { granted: false, retryInMs: Math.max(0, Number(left) / 1000), holder: holderOf(holder) },
  )
}

/** `owner, grant`; the number of what is not in force is not above 0. */
export function renewalAnswersTo(renewals: readonly Renewal[], rows: readonly string[]): RenewalAnswer[] {
  return inOrder(renewals, rows, ({ owner }, [holds, grant]) =>
    holds === hexOf(owner) && Number(grant) > 0
      ? { renewed: true, grant: Number(grant) }
      : { renewed: false },
  )
}

/** `freed, in force, wanted`. */
export function releaseAnswersTo(
  claims: readonly Claim[],
  call: string,
  rows: readonly string[],
): ReleaseAnswer[] {
  return inOrder(claims, rows, (_claim, [freed, inForce, wanted]) => {
    const isOurs = freed === hexOf(call)
    return { released: isOurs && inForce === '1', wanted: isOurs && wanted === '1' }
  })
}

/** `freed`, then a record. */
export function evictedBy(call: string, [row]: readonly string[]): LockRecord | null {
  if (row === undefined) return null
  const [key = '', freed, ...fields] = row.split(',')
  return freed === hexOf(call) ? recordOf([key, ...fields].join(',')) : null
}

export function recordOf(row: string): LockRecord {
  const [key = '', grant, holder = '', since, leaseMs, left, wanted] = row.split(',')
  return {
    key: textOfHex(key),
    grant: Number(grant),
    holder: holderOf(holder),
    since: Math.floor(Number(since) / 1000),
    leaseMs: Number(leaseMs),
    remainingMs: Number(left) / 1000,
    wanted: wanted === '1',
  }
}

/** Answers come in any order. */
function inOrder<I extends { readonly key: string }, O>(
  items: readonly I[],
  rows: readonly string[],
  read: (item: I, fields: Fields) => O,
): O[] {
  const byKey = new Map(rows.map((row) => row.split(',')).map(([key, ...fields]) => [key, fields]))
  return items.map((item) => {
    const fields = byKey.get(hexOf(item.key))
    if (!fields) throw new Error('the server gave no answer for a key')
    return read(item, fields)
  })
}

function holderOf(hex: string): Holder {
  const { service = '', instance = '', context = null } = JSON.parse(textOfHex(hex)) as Partial<Holder>
  return { service, instance, context }
}
