import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type {
  Answer,
  Ask,
  Claim,
  Denial,
  Fault,
  Grant,
  Holder,
  LockRecord,
  ReleaseAnswer,
  Renewal,
  RenewalAnswer,
  Store,
} from '../store.ts'

/** A lease that no test outlasts, however slow the machine. */
export const LONG_MS = 120_000

/** A number so much higher than another is ahead of the clock, by an hour. */
export const AHEAD = 3_600_000_000

export function holderNamed(instance: string, context: string | null = null): Holder {
  return { service: 'conformance', instance, context }
}

/** An ask for `key` by a new owner. */
export function ask(key: string, change: Partial<Omit<Ask, 'key'>> = {}): Ask {
  return { key, owner: randomUUID(), leaseMs: LONG_MS, holder: holderNamed('someone'), ...change }
}

function claim({ key, owner }: Claim): Claim {
  return { key, owner }
}

export function renewal(
  { key, owner }: Claim,
  change: Partial<Omit<Renewal, 'key' | 'owner'>> = {},
): Renewal {
  return { key, owner, leaseMs: LONG_MS, ...change }
}

/** The answers of a batch, none missing and none a fault. */
export function whole<A extends object>(answers: readonly (A | Fault)[], count: number): A[] {
  assert.ok(Array.isArray(answers), 'the answers must be an array')
  assert.equal(answers.length, count, 'there must be one answer for each item of the batch')
  return answers.map((answer, index) => {
    assert.ok(answer !== null && typeof answer === 'object', `answer ${index} is missing`)
    if ('error' in answer) throw new Error(`answer ${index} is a fault`, { cause: answer.error })
    return answer
  })
}

export function isGranted(answer: Answer): answer is Grant {
  return answer.granted
}

export async function acquireAll(store: Store, asks: readonly Ask[]): Promise<Answer[]> {
  return whole<Answer>(await store.acquire(asks), asks.length)
}

export async function renewAll(store: Store, renewals: readonly Renewal[]): Promise<RenewalAnswer[]> {
  return whole<RenewalAnswer>(await store.renew(renewals), renewals.length)
}

export async function releaseAll(store: Store, claims: readonly Claim[]): Promise<ReleaseAnswer[]> {
  return whole<ReleaseAnswer>(await store.release(claims.map(claim)), claims.length)
}

export async function acquireOne(store: Store, wish: Ask): Promise<Answer> {
  return (await acquireAll(store, [wish]))[0] as Answer
}

export async function renewOne(store: Store, one: Renewal): Promise<RenewalAnswer> {
  return (await renewAll(store, [one]))[0] as RenewalAnswer
}

export async function releaseOne(store: Store, one: Claim): Promise<ReleaseAnswer> {
  return (await releaseAll(store, [one]))[0] as ReleaseAnswer
}

/** Asks, and fails the test unless the key is granted with a proper number. */
export async function grantTo(store: Store, wish: Ask): Promise<Grant> {
  return assertGrant(await acquireOne(store, wish), wish.key)
}

export function assertGrant(answer: Answer, key: string): Grant {
  assert.ok(answer.granted, `${JSON.stringify(key)} must be granted, it was denied`)
  assert.ok(
    Number.isSafeInteger(answer.grant) && answer.grant > 0,
    `a grant must be a positive safe integer, not ${String(answer.grant)} (${typeof answer.grant})`,
  )
  return answer
}

/** Asks, and fails the test unless the key is denied. */
export async function denialOf(store: Store, wish: Ask): Promise<Denial> {
  return assertDenial(await acquireOne(store, wish), wish.key)
}

export function assertDenial(answer: Answer, key: string): Denial {
  assert.ok(!answer.granted, `${JSON.stringify(key)} must be denied, it was granted`)
  return answer
}

/** Fails unless the lease was renewed and this grant is in force. */
export function assertRenewed(answer: RenewalAnswer, grant: number): void {
  assert.ok(answer.renewed, 'a lease in force must be renewed')
  assert.equal(answer.grant, grant)
}

/** Fails unless the key was released, and whether it is wanted is as said. */
export function assertReleased(answer: ReleaseAnswer, expected: { wanted: boolean }): void {
  assert.equal(answer.released, true, 'a lease in force must be released')
  assert.equal(answer.wanted, expected.wanted, 'wanted')
}

/** What the store lists under exactly this key. */
export async function recordOf(store: Store, key: string): Promise<LockRecord | undefined> {
  const page = await store.list({ key, limit: 10 })
  assert.ok(page.locks.length <= 1, 'a list by exact key must show at most one lock')
  assert.ok(
    page.locks.every((lock) => lock.key === key),
    'a list by exact key must show that key only',
  )
  return page.locks[0]
}

/** The record of a key that must be held. */
export async function heldRecord(store: Store, key: string): Promise<LockRecord> {
  const record = await recordOf(store, key)
  assert.ok(record, `${JSON.stringify(key)} must be listed as held`)
  return record
}

/** The same items in another order, the same each time: an order that no index of a store has. */
export function shuffled<T>(items: readonly T[]): T[] {
  const result = [...items]
  let state = 42
  for (let last = result.length - 1; last > 0; last -= 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    const other = (state >>> 8) % (last + 1)
    const held = result[last] as T
    result[last] = result[other] as T
    result[other] = held
  }
  return result
}

/** Fails unless each number is greater than the one before. */
export function assertRising(numbers: readonly (number | bigint)[], what: string): void {
  for (let index = 1; index < numbers.length; index += 1) {
    const before = numbers[index - 1] as number | bigint
    const after = numbers[index] as number | bigint
    assert.ok(after > before, `${what}: ${after} came after ${before}`)
  }
}
