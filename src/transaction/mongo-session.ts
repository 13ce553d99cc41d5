import type { MongoClient, MongoSession } from '../databases/mongo.ts'
import { isCutOff, label } from '../databases/mongo-transaction.ts'
import { cannotBegin, type Terms } from './session.ts'

interface Committing extends MongoSession {
  commitTransaction(): Promise<unknown>
}

/** `mayCommit` is asked each time before COMMIT is sent, also again; it throws if that must not be. */
export function sessionOf(client: MongoClient, { key }: Terms, mayCommit: () => void): MongoSession {
  let session: Committing
  try {
    session = client.startSession() as Committing
  } catch (error) {
    throw cannotBegin(key, error)
  }
  const commit = session.commitTransaction.bind(session)
  session.commitTransaction = async () => {
    mayCommit()
    try {
      return await commit()
    } catch (error) {
      // By this the driver knows that it has to ask again. It leaves it off (6.22, 7.8) if its monitor has heard of the
      // loss of the server first.
      if (isCutOff(error)) label(error, 'UnknownTransactionCommitResult')
      throw error
    }
  }
  return session
}

/**
 * After COMMIT was sent in vain: if it has not arrived, the transaction would be in the way of the next holder until
 * the server's limit, and the driver sends no ROLLBACK after COMMIT. If it has, nothing happens.
 */
export function rollBackAnyway(client: MongoClient, session: MongoSession): Promise<unknown> {
  const { id } = session as { id?: unknown }
  return client.db('admin').command({ killSessions: [id] })
}

/** Whatever the client does by default: only what a majority has is committed, and only a primary writes. */
export function optionsOf({ stepMs, wholeMs }: Terms): object {
  return {
    readConcern: { level: 'snapshot' },
    writeConcern: { w: 'majority' },
    readPreference: 'primary',
    // A lease that is renewed has two thirds left. Past this limit the driver does not try again.
    maxCommitTimeMS: Math.max(1, Math.floor(wholeMs ?? stepMs * 2)),
  }
}
