import { invalid } from './verdict.ts'

/**
 * Options of the driver. Tokens have more digits than a number is exact to, so they are read as bigint, whatever the
 * client does with other values; and where writes go, whatever it prefers to read from.
 */
export const EXACTLY: object = {
  useBigInt64: true,
  promoteLongs: true,
  promoteValues: true,
  readPreference: 'primary',
}

/** `where` names what holds it. */
export function storedToken(value: unknown, where: string): bigint {
  if (typeof value === 'bigint') return value
  // What others have put there by hand.
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
  throw invalid(`${where} has something else where a token should be`)
}
