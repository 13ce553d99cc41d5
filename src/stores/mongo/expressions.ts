/** An aggregation expression, or a part of a command. */
export type Expression = unknown

/** Further processes poll until the list is shorter: it is written with each change of the record. */
export const MAX_WAITERS = 100

/** In the server's clock, the same for all of a command: no time of ours is ever sent. */
export const NOW = '$$NOW'

const MICROS: Expression = { $multiply: [{ $toLong: NOW }, 1000] }

/** What a key's next grant number is: it rises, whatever the clock does. */
export const NEXT_GRANT: Expression = { $max: [{ $add: ['$grant', 1] }, MICROS] }

export const IN_FORCE: Expression = { $gt: ['$expiresAt', NOW] }

/** For a filter. Nobody holds a record without an owner, whatever its times say. */
export const HELD: Expression = { owner: { $type: 'string' }, $expr: IN_FORCE }

/** Also of a record that has just come into being, with nothing in it. */
export const FREE: Expression = {
  $or: [{ $ne: [{ $type: '$owner' }, 'string'] }, { $lte: ['$expiresAt', NOW] }],
}

/** Time left; for a projection. */
export const REMAINING_MS: Expression = { $subtract: ['$expiresAt', NOW] }

/** A process that sleeps does not ask, but it wants the key all the same. */
export const WANTED: Expression = { $or: ['$wanted', { $gt: [{ $size: '$waiters' }, 0] }] }

/**
 * When a record is of no more use, as far as is known; the TTL index counts `keep` from there. Not before the clock
 * has come to its number: without the record, the next number would be lower.
 */
export function idleFrom(expiresAt: Expression, grant: Expression): Expression {
  return { $max: [expiresAt, { $toDate: { $divide: [grant, 1000] } }] }
}

/** Last in the list, once. */
export function joined(waiters: Expression, waiter: Expression): Expression {
  const stays = { $or: [{ $in: [waiter, waiters] }, { $gte: [{ $size: waiters }, MAX_WAITERS] }] }
  return { $cond: [stays, waiters, { $concatArrays: [waiters, [waiter]] }] }
}

export function without(waiters: Expression, waiter: Expression): Expression {
  return { $filter: { input: waiters, cond: { $ne: ['$$this', waiter] } } }
}

/**
 * Takes the first off the list and wakes it. A mark that is never the same twice: a change stream tells of changes
 * only.
 */
export function wakeFirst(mark: string): Readonly<Record<string, Expression>> {
  const first = { $concat: [{ $arrayElemAt: ['$waiters', 0] }, `:${mark}`] }
  return {
    // The first of none is missing, and with it the whole.
    woken: { $ifNull: [first, null] },
    waiters: { $slice: ['$waiters', 1, MAX_WAITERS] },
  }
}
