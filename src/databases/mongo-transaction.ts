import { has } from './methods.ts'

interface Labelled extends Error {
  hasErrorLabel(label: string): boolean
  addErrorLabel(label: string): void
}

/** Whether the whole transaction may be run again: nothing of it is stored. */
export function isTransient(error: unknown): boolean {
  return isLabelled(error) && error.hasErrorLabel('TransientTransactionError')
}

/** Whether there was no answer, since the connection was lost or no server was there. */
export function isCutOff(error: unknown): error is Labelled {
  return isLabelled(error) && /^Mongo(Network|PoolCleared|ServerSelection)\w*Error$/.test(error.name)
}

/** Labels tell the driver what to do about an error of its own. */
export function label(error: unknown, text: string): void {
  if (isLabelled(error)) error.addErrorLabel(text)
}

/** Whether another transaction has written to the same document since ours began. */
export function isConflict(error: unknown): boolean {
  return codeOf(error) === 112
}

/** Whether a server that is no member of a replica set was asked for a transaction. */
export function isAlone(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  // The driver takes some of them for something else.
  const { originalError } = error as { originalError?: unknown }
  if (originalError !== undefined && originalError !== error) return isAlone(originalError)
  return codeOf(error) === 20 && error.message.startsWith('Transaction numbers are only allowed')
}

export const ALONE: string =
  'this MongoDB server stands alone, and transactions need a replica set, of one server at least (--replSet and ' +
  'rs.initiate()), or a sharded cluster'

export function codeOf(error: unknown): number | null {
  // Of a client that is set to read values as they are stored, it is an object.
  const code = error instanceof Error ? Number((error as { code?: unknown }).code) : Number.NaN
  return Number.isNaN(code) ? null : code
}

function isLabelled(error: unknown): error is Labelled {
  return error instanceof Error && has(error, 'hasErrorLabel', 'addErrorLabel')
}
