import type { MongoDocument } from '../../databases/mongo.ts'
import { describeError, LockError } from '../../errors.ts'

/** No answer came within the limit. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut'
}

/** What a reply says that is no error to the driver. */
export class WriteFailure extends Error {
  override readonly name = 'WriteFailure'
  readonly code: number

  constructor({ code, errmsg }: MongoDocument) {
    super(String(errmsg))
    this.code = Number(code)
  }
}

const DUPLICATE_KEY = 11000
const UNAUTHORIZED = 13
/** The server is no primary, any more or yet, or is going down: another one will be soon. */
const ELECTION = new Set([91, 189, 10058, 10107, 11600, 11602, 13435, 13436])

// https://www.mongodb.com/docs/manual/reference/error-codes/; the driver's errors go by their names.
const REMEDIES: Readonly<Record<string, string>> = {
  18: 'the server does not let this user in; check user, password and authSource, the database that the user is in',
  20: 'the server does not do this; it must be MongoDB 4.4 or later',
  50: 'the command took too long and was ended',
  64: 'too few nodes of the replica set confirmed the write in time; it may be undone',
  79: 'the replica set does not know this write concern; check its settings',
  100: 'too few nodes of the replica set are up for a majority',
  166: 'the collection is something else than an ordinary one; name another one',
  MongoServerSelectionError:
    'no primary can be reached; check hosts, ports and replicaSet, and that the servers run',
  // Of a client whose first connection failed, which is what every later call is told, or that was closed just now.
  MongoTopologyClosedError:
    'the client could not connect, or was closed; check hosts, ports and replicaSet, and call its connect()',
  MongoNotConnectedError: 'the client given to the store was closed; give one that stays open',
  MongoClientClosedError: 'the client given to the store was closed; give one that stays open',
  MongoExpiredSessionError: 'the client given to the store was closed; give one that stays open',
  MongoNetworkError: 'the connection was cut',
  MongoNetworkTimeoutError: 'the server does not answer',
  TimedOut: 'check hosts, ports and replicaSet, that a primary is there and not overloaded, and maxPoolSize',
  MongoWaitQueueTimeoutError: 'no connection of the client came free in time; raise maxPoolSize',
  MongoPoolClearedError: 'the connection was cut',
}

/** What a write has done wrong, though the command as such went well; null if nothing. */
export function writeFailure({ writeErrors, writeConcernError }: MongoDocument): WriteFailure | null {
  const [first] = (writeErrors as MongoDocument[] | undefined) ?? []
  const failure = first ?? (writeConcernError as MongoDocument | undefined)
  return failure ? new WriteFailure(failure) : null
}

/** Another was first to write the record, and it is there now. */
export function isRace(error: unknown): boolean {
  return codeOf(error) === DUPLICATE_KEY
}

export function isElection(error: unknown): boolean {
  return ELECTION.has(codeOf(error))
}

/** It was never sent: another call had found out before that the connections are of no more use. */
export function isUnsent(error: unknown): boolean {
  return error instanceof Error && error.name === 'MongoPoolClearedError'
}

/** What the caller sees: what is wrong with which collection, and what to do. */
export function asLockError(error: unknown, namespace: string): LockError {
  if (error instanceof LockError) return error
  const why = remedyOf(error, namespace)
  const what = why ? `${why} (${describeError(error)})` : describeError(error)
  return new LockError('STORE_UNAVAILABLE', `the mongo store cannot use ${namespace}: ${what}`, {
    cause: error,
  })
}

/** Waiting does not mend it. */
export function unusable(namespace: string, why: string): LockError {
  return new LockError('INVALID_OPTION', `the mongo store cannot use ${namespace}: ${why}`)
}

export function closedError(): LockError {
  return new LockError('CLOSED', 'the mongo store is closed; create a new one')
}

export function codeOf(error: unknown): number {
  return error instanceof Error ? Number((error as { code?: unknown }).code) : Number.NaN
}

function remedyOf(error: unknown, namespace: string): string | undefined {
  if (!(error instanceof Error)) return undefined
  const code = codeOf(error)
  if (code === UNAUTHORIZED) {
    return `the user lacks a right; grant it the role readWrite on the database of ${namespace}`
  }
  if (ELECTION.has(code)) return 'there is no primary right now'
  return REMEDIES[code] ?? REMEDIES[error.name]
}
