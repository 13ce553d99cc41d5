import { onAbort } from '../abort.ts'
import type { AnyLease } from '../bundle.ts'
import type { Timer } from '../environment.ts'
import { LockError } from '../errors.ts'
import type { Lease } from '../lease.ts'
import type { TransactionGuard } from '../options.ts'
import { TimedOut, within } from './limit.ts'
import { isAboutMysqlTable, isGivenUp } from './mysql-server.ts'
import { isAboutTable, isCancelled, isInterruption } from './postgres.ts'
import { asOfNow, cannotBegin, notHeld, type Session, type Terms } from './session.ts'
import { takeTurn } from './turns.ts'

/** A database as far as transactions go. */
export interface Place {
  /** One connection, which has one transaction at a time; null for a pool. */
  readonly connection: object | null
  /** Whether the guard needs its table before BEGIN. In SQLite the check creates it on the spot. */
  readonly opensGuard: boolean
  readonly begin: (terms: Terms) => Promise<Session>
}

export type Body = (tx: never, lease: Lease) => unknown

/** BEGIN → check → `body` → still held? → COMMIT or ROLLBACK. The lock is around all of it. */
export async function inOrder(
  place: Place,
  terms: Terms,
  guard: TransactionGuard | null,
  body: Body,
): Promise<unknown> {
  const { connection } = place
  const endTurn = connection ? await turnOn(connection, terms) : null
  try {
    // Creating a table is no part of the transaction, and needs a connection, perhaps the only one.
    if (guard && place.opensGuard) await open(guard, terms)
    const now = asOfNow(terms)
    const session = await place.begin(now)
    return await inSession(session, now, guard, body)
  } finally {
    endTurn?.()
  }
}

async function inSession(
  session: Session,
  terms: Terms,
  guard: TransactionGuard | null,
  body: Body,
): Promise<unknown> {
  const { lease } = terms
  const stopWatching = session.undo && onLoss(lease, () => session.undo?.())
  try {
    if (!lease.held) throw notHeld(terms)
    if (guard) await check(guard, session, terms)
    if (!lease.held) throw notHeld(terms)
    const result = await body(session.tx as never, lease)
    if (!lease.held) throw notHeld(terms)
    await session.commit()
    return result
  } catch (error) {
    await session.rollback()
    if (error instanceof LockError) throw error
    // What the server did to a transaction that outlived its lease.
    if (!lease.held && (isInterruption(error, session) || isGivenUp(error) || session.lossIn(error)))
      throw notHeld(terms, error)
    throw session.lossIn(error) ?? error
  } finally {
    stopWatching?.()
  }
}

/** The result stops waiting for it. */
function onLoss(lease: AnyLease, lost: () => void): () => void {
  const { env, signal } = lease
  let timer: Timer = null
  const look = (): void => {
    if (!lease.held) return lost()
    // The client is being closed: it renews no more, and the signal has been given.
    timer = env.setTimer(lease.remainingMs, look, false)
  }
  const unheed = onAbort(signal, look)
  return () => {
    unheed()
    env.clearTimer(timer)
  }
}

async function check(guard: TransactionGuard, session: Session, terms: Terms): Promise<void> {
  const { key, lease, stepMs } = terms
  const start = lease.env.now()
  try {
    const checked = checkTokens(guard, session.tx as never, lease)
    // The server's own limit is shorter and says more.
    await within(
      lease.env,
      { ms: lease.remainingMs, what: 'the check of the token was not answered' },
      checked,
    )
  } catch (error) {
    const cancelled = isCancelled(error) || isGivenUp(error)
    // It may have been the loss that ended the wait, see `undo`.
    if (!lease.held && (cancelled || error instanceof TimedOut)) throw notHeld(terms, error)
    const waitedMs = Math.round(lease.env.now() - start)
    // Sooner, somebody has cancelled it. The server is told its limit later, when less may be left, and in seconds perhaps.
    if (cancelled && waitedMs >= stepMs / 2) {
      const why = `the guard's row stayed locked for ${waitedMs} ms by a transaction that does not end`
      throw cannotBegin(key, new Error(why, { cause: error }))
    }
    const isBeginning = cancelled || error instanceof TimedOut || error instanceof LockError
    throw isBeginning ? cannotBegin(key, error) : error
  }
}

/** One after the other, in the order of the keys: so the rows of the guard are locked in that order by all. */
export async function checkTokens(guard: TransactionGuard, tx: never, lease: Lease): Promise<void> {
  for (const key of lease.keys) await guard.check(tx, key, lease.tokenFor(key))
}

async function open(guard: TransactionGuard, { key, lease, stepMs }: Terms): Promise<void> {
  const opening = guard.open?.()
  if (!opening) return
  try {
    await within(lease.env, { ms: stepMs, what: 'the table of the guard was not opened' }, opening)
  } catch (error) {
    // Who has not asked for a guard knows nothing of its table, and if the database is out of reach need not know.
    const cause = error instanceof LockError && error.code === 'STORE_UNAVAILABLE' ? error.cause : undefined
    throw cannotBegin(
      key,
      cause === undefined || isAboutTable(cause) || isAboutMysqlTable(cause) ? error : cause,
    )
  }
}

async function turnOn(connection: object, { key, lease, stepMs }: Terms): Promise<() => void> {
  try {
    return await takeTurn(connection, lease.env, stepMs)
  } catch (error) {
    throw cannotBegin(key, error)
  }
}
