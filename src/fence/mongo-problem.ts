import type { MongoDocument } from '../databases/mongo.ts'
import { ALONE, codeOf, isAlone } from '../databases/mongo-transaction.ts'
import { describeError, type LockError } from '../errors.ts'
import { unavailable } from './table-problem.ts'
import { invalid } from './verdict.ts'

const UNAUTHORIZED = 13
const NOT_ON_A_VIEW = 166
const NOT_IN_TRANSACTION = 263

/** An error that says what is wrong with the collection, if that is what the server complains of; else null. */
export function collectionProblem(error: unknown, place: string): LockError | null {
  if (isAlone(error))
    return invalid(`${ALONE}; without one, documentFence(collection) guards single documents`, error)
  const said = describeError(error)
  switch (codeOf(error) ?? 0) {
    case UNAUTHORIZED:
      return unavailable(
        `this user may not use the collection ${place} (${said}); grant the role readWrite on its database, or give ` +
          'the Db where the user has it',
        error,
      )
    case NOT_ON_A_VIEW:
      return invalid(`the collection ${place} is a view (${said}); give another name as collection`, error)
    case NOT_IN_TRANSACTION:
      return unavailable(
        `the collection ${place} is missing, or is of a kind that transactions cannot write to (${said}); open() of the guard ` +
          'creates it, or says what it is',
        error,
      )
    default:
      return null
  }
}

/** What the collection is, in the answer of `listCollections`, if it cannot hold a guard; else null. */
export function misfitOf({ type, options }: MongoDocument): string | null {
  if (type === 'view') return 'a view'
  if (type === 'timeseries') return 'a time series'
  return (options as { capped?: unknown } | undefined)?.capped === true ? 'capped' : null
}
