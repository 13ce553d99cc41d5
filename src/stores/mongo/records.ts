import type { MongoDocument } from '../../databases/mongo.ts'
import type { Answer, Ask, Claim, Holder, LockRecord, RenewalAnswer } from '../../store.ts'

/** What `find` or `findAndModify` tells of a record. */
export interface Found {
  readonly _id: string
  readonly owner?: string | null
  readonly grant?: number
  readonly holder?: Holder
  readonly previous?: Holder | null
  readonly freed?: string
  readonly remainingMs?: number
  readonly since?: Date
  readonly leaseMs?: number
  readonly wanted?: boolean
  readonly inForce?: boolean
}

export function foundBy(reply: MongoDocument): readonly Found[] {
  return (reply['cursor'] as { firstBatch: Found[] }).firstBatch
}

/** By key. */
export function mapOf(reply: MongoDocument): ReadonlyMap<string, Found> {
  return new Map(foundBy(reply).map((each) => [each._id, each]))
}

/** What `findAndModify` found; undefined if there was nothing. */
export function valueOf(reply: MongoDocument): Found | undefined {
  return (reply['value'] as Found | null | undefined) ?? undefined
}

/** Null if the key came free meanwhile, or is not there: then it is to be asked for again. */
export function answerOf(ask: Ask, found: Found | undefined): Answer | null {
  if (!found || typeof found.owner !== 'string' || !isInForce(found)) return null
  if (found.owner === ask.owner) {
    return { granted: true, grant: numberOf(found.grant), previous: found.previous ?? null }
  }
  return { granted: false, retryInMs: numberOf(found.remainingMs), holder: found.holder as Holder }
}

export function renewalAnswerOf({ owner }: Claim, found: Found | undefined): RenewalAnswer {
  if (!found || found.owner !== owner || !isInForce(found)) return { renewed: false }
  return { renewed: true, grant: numberOf(found.grant) }
}

export function recordOf(found: Found): LockRecord {
  return {
    key: found._id,
    grant: numberOf(found.grant),
    holder: found.holder as Holder,
    since: (found.since as Date).getTime(),
    leaseMs: numberOf(found.leaseMs),
    remainingMs: numberOf(found.remainingMs),
    wanted: found.wanted === true,
  }
}

export function isInForce({ remainingMs }: Found): boolean {
  return numberOf(remainingMs) > 0
}

function numberOf(value: unknown): number {
  return Number(value)
}
