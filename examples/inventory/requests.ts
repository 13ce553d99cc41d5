import { Refusal } from './refusal.ts'

export type Kind = 'DEDUCT' | 'ADD' | 'SET'

export interface Operation {
  readonly code: string
  readonly kind: Kind
  readonly count: number
}

/** A request that was checked. */
export interface Order {
  readonly operations: readonly Operation[]
  /** Why, for people: it is recorded with the lock and with the order. */
  readonly context: string
  /** Makes a repeated POST safe; null if the client gave none. */
  readonly requestKey: string | null
}

const MAX_COUNT = 1_000_000
const MAX_OPERATIONS = 100

export function readDeduct(body: unknown, requestKey: string | undefined, context: string): Order {
  const { commodityCode, count, businessContext } = object(body)
  const operation = readOperation({ commodityCode, count, operationType: 'DEDUCT' })
  return {
    operations: [operation],
    context: readContext(businessContext, context),
    requestKey: readKey(requestKey),
  }
}

export function readBatch(body: unknown, requestKey: string | undefined): Order {
  const { operations, businessContext } = object(body)
  if (!Array.isArray(operations) || operations.length === 0 || operations.length > MAX_OPERATIONS)
    throw bad(`operations: give 1 to ${MAX_OPERATIONS} of them`)
  const read = operations.map((each) => readOperation(object(each)))
  if (new Set(read.map(({ code }) => code)).size < read.length)
    throw bad('operations: give each commodity once')
  return { operations: read, context: readContext(businessContext, 'batch'), requestKey: readKey(requestKey) }
}

function readOperation({ commodityCode, count, operationType }: Record<string, unknown>): Operation {
  if (typeof commodityCode !== 'string' || !/^[A-Za-z0-9_-]{1,32}$/.test(commodityCode))
    throw bad('commodityCode: give 1 to 32 letters, digits, - or _')
  if (operationType !== 'DEDUCT' && operationType !== 'ADD' && operationType !== 'SET')
    throw bad('operationType: give DEDUCT, ADD or SET')
  const least = operationType === 'SET' ? 0 : 1
  if (!Number.isInteger(count) || (count as number) < least || (count as number) > MAX_COUNT)
    throw bad(`count: give a whole number from ${least} to ${MAX_COUNT}`)
  return { code: commodityCode, kind: operationType, count: count as number }
}

function readContext(given: unknown, otherwise: string): string {
  if (given === undefined) return otherwise
  if (typeof given !== 'string' || given === '' || given.length > 100)
    throw bad('businessContext: give a text of 1 to 100 characters')
  return given
}

function readKey(key: string | undefined): string | null {
  if (key === undefined) return null
  if (!/^[\x21-\x7e]{1,200}$/.test(key)) throw bad('Idempotency-Key: give 1 to 200 visible ASCII characters')
  return key
}

function object(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bad('give a JSON object')
  return value as Record<string, unknown>
}

function bad(message: string): Refusal {
  return new Refusal(400, 'bad-request', message)
}
