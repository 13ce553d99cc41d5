import type { MongoDocument } from '../../databases/mongo.ts'
import type { Ask, Claim, Renewal } from '../../store.ts'
import {
  type Expression,
  FREE,
  HELD,
  idleFrom,
  IN_FORCE,
  joined,
  MAX_WAITERS,
  NEXT_GRANT,
  NOW,
  REMAINING_MS,
  wakeFirst,
  WANTED,
  without,
} from './expressions.ts'

/**
 * The commands that locking is made of. What they have in common:
 *
 * - A record is decided on by one update with a pipeline, which reads and writes it in one step, on the server's clock.
 * - One key is found, changed and returned by one `findAndModify`. Many are changed by one `update`, which says only
 *   how many they were, so that a `find` follows. What is asked of each key goes along as one list.
 * - With a hint, as the server would weigh the two indexes anew each time, at twice the cost.
 * - Texts of ours are literals: one that begins with `$` would be an expression.
 */
export class Steps {
  readonly #collection: string
  /** Who waits here, as it stands in a list of waiters. */
  readonly #waiter: string

  constructor(collection: string, waiter: string) {
    this.#collection = collection
    this.#waiter = waiter
  }

  acquireOne(ask: Ask, waits: boolean): MongoDocument {
    return {
      ...this.#findAndModify({ _id: ask.key }, this.#granting({ $literal: asked(ask, waits) })),
      upsert: true,
      new: true,
      fields: ANSWER,
    }
  }

  /**
   * Records without an owner for keys that may have none. They mean nothing, so nobody waits until they last; long idle,
   * they go soon if nothing comes of them.
   */
  insert(keys: readonly string[]): MongoDocument {
    const empty = { idleFrom: new Date(0), wanted: false, waiters: [] }
    const documents = keys.map((_id) => ({ _id, ...empty }))
    return { insert: this.#collection, documents, ordered: false }
  }

  acquireMany(asks: readonly Ask[], waiting: ReadonlySet<string>): MongoDocument {
    const items = asks.map((ask) => asked(ask, waiting.has(ask.key)))
    const keys = asks.map(({ key }) => key)
    return this.#update({ ...among(keys), u: this.#granting(itemOf(keys, items)) })
  }

  renewOne(renewal: Renewal): MongoDocument {
    const { key, owner } = renewal
    return {
      ...this.#findAndModify({ _id: key, owner, $expr: IN_FORCE }, renewing({ $literal: renewed(renewal) })),
      new: true,
      fields: ANSWER,
    }
  }

  renewMany(renewals: readonly Renewal[]): MongoDocument {
    const keys = renewals.map(({ key }) => key)
    const { q, ...rest } = among(keys)
    const held = { $and: [IN_FORCE, { $eq: ['$owner', ownerOf(renewals)] }] }
    return this.#update({
      ...rest,
      q: { ...q, $expr: held },
      u: renewing(itemOf(keys, renewals.map(renewed))),
    })
  }

  /** Gives what it was before. */
  releaseOne({ key, owner }: Claim, call: string): MongoDocument {
    return { ...this.#findAndModify({ _id: key, owner }, [freeing(call)]), fields: BEFORE }
  }

  /** Only of those that are in force and that nobody wants: there is nothing more to tell of them, or to do. */
  releaseUnwanted(claims: readonly Claim[], call: string): MongoDocument {
    const { q, ...rest } = among(claims.map(({ key }) => key))
    const ours = { $and: [IN_FORCE, { $eq: ['$owner', ownerOf(claims)] }] }
    const filter = { ...q, wanted: false, waiters: { $size: 0 }, $expr: ours }
    return this.#update({ ...rest, q: filter, u: { $set: { owner: null, freed: call } } })
  }

  releaseMany(claims: readonly Claim[], call: string): MongoDocument {
    const { q, ...rest } = among(claims.map(({ key }) => key))
    const ours = { $eq: ['$owner', ownerOf(claims)] }
    return this.#update({ ...rest, q: { ...q, $expr: ours }, u: [freeing(call)] })
  }

  evict(key: string, grant: number, call: string): MongoDocument {
    const query = { _id: key, ...(HELD as object), grant }
    return { ...this.#findAndModify(query, [freeing(call)]), fields: RECORD }
  }

  find(keys: readonly string[]): MongoDocument {
    return this.#find({ _id: { $in: keys } }, ANSWER, keys.length)
  }

  /** One more than the page has, if there is one. */
  list(key: string | undefined, prefix: string, after: string, limit: number): MongoDocument {
    // An anchored expression is a range of the index.
    const name = key === undefined ? { $gt: after, $regex: `^${escaped(prefix)}` } : { $eq: key, $gt: after }
    return { ...this.#find({ _id: name, ...(HELD as object) }, RECORD, limit + 1), sort: { _id: 1 } }
  }

  held(keys: readonly string[]): MongoDocument {
    return this.#find({ _id: { $in: keys }, ...(HELD as object) }, { _id: 1 }, keys.length)
  }

  enlist(keys: readonly string[]): MongoDocument {
    const { q, ...rest } = among(keys)
    const waits = { wanted: true, waiters: joined('$waiters', this.#waiter) }
    return this.#update({ ...rest, q: { ...q, ...(HELD as object) }, u: [{ $set: waits }] })
  }

  /** Those of the keys on whose lists this process is; or would be, if there were room. */
  enlisted(keys: readonly string[]): MongoDocument {
    const full = { [`waiters.${MAX_WAITERS - 1}`]: { $exists: true } }
    const listed = { $or: [{ waiters: this.#waiter }, full] }
    return this.#find({ _id: { $in: keys }, ...(HELD as object), ...listed }, { _id: 1 }, keys.length)
  }

  dismiss(keys: readonly string[]): MongoDocument {
    const { q, ...rest } = among(keys)
    return this.#update({
      ...rest,
      q: { ...q, waiters: this.#waiter },
      u: { $pull: { waiters: this.#waiter } },
    })
  }

  /** Wakes the next, if the key is still free. `waits`: this process goes on waiting. */
  pass(key: string, waits: boolean, call: string): MongoDocument {
    const wake = { $replaceWith: { $cond: [FREE, { $mergeObjects: ['$$ROOT', wakeFirst(call)] }, '$$ROOT'] } }
    const join = { $set: { waiters: joined('$waiters', this.#waiter) } }
    return this.#update({ q: { _id: key }, u: waits ? [wake, join] : [wake] })
  }

  #find(filter: MongoDocument, projection: MongoDocument, limit: number): MongoDocument {
    return {
      find: this.#collection,
      filter,
      projection,
      hint: ID,
      limit,
      batchSize: limit,
      singleBatch: true,
    }
  }

  #findAndModify(query: MongoDocument, update: readonly Expression[]): MongoDocument {
    return { findAndModify: this.#collection, query, update, hint: ID }
  }

  #update(...updates: readonly MongoDocument[]): MongoDocument {
    return { update: this.#collection, updates }
  }

  /** Grants a free key, prolongs what is the asker's own, and notes for all others that they want it. */
  #granting(ask: Expression): Expression[] {
    const expiresAt = { $add: [NOW, '$asked.leaseMs'] }
    const waiters = { $ifNull: ['$waiters', []] }
    const granted = {
      $let: {
        vars: { grant: NEXT_GRANT },
        in: {
          _id: '$_id',
          owner: '$asked.owner',
          grant: '$$grant',
          holder: '$asked.holder',
          // One that ran out unreleased.
          previous: { $cond: [{ $eq: [{ $type: '$owner' }, 'string'] }, '$holder', null] },
          since: NOW,
          leaseMs: '$asked.leaseMs',
          expiresAt,
          idleFrom: idleFrom(expiresAt, '$$grant'),
          wanted: false,
          waiters: without(waiters, this.#waiter),
          freed: '$freed',
        },
      },
    }
    const longer = {
      previous: null,
      expiresAt: { $max: ['$expiresAt', expiresAt] },
      idleFrom: { $max: ['$idleFrom', expiresAt] },
    }
    const denied = {
      wanted: true,
      waiters: { $cond: ['$asked.waits', joined(waiters, this.#waiter), waiters] },
    }
    const mine = { $eq: ['$owner', '$asked.owner'] }
    const decided = {
      $cond: [FREE, granted, { $mergeObjects: ['$$ROOT', { $cond: [mine, longer, denied] }] }],
    }
    return [{ $set: { asked: ask } }, { $replaceWith: decided }, { $unset: 'asked' }]
  }
}

const ID = { _id: 1 }
const ANSWER = {
  owner: 1,
  grant: 1,
  holder: 1,
  previous: 1,
  freed: 1,
  wanted: WANTED,
  remainingMs: REMAINING_MS,
}
const BEFORE = { inForce: IN_FORCE, wanted: WANTED }
const RECORD = { grant: 1, holder: 1, since: 1, leaseMs: 1, remainingMs: REMAINING_MS, wanted: WANTED }

function asked({ owner, leaseMs, holder }: Ask, waits: boolean): MongoDocument {
  const { service, instance, context } = holder
  return { owner, leaseMs, holder: { service, instance, context }, waits }
}

function renewed({ leaseMs, rotate = false, raiseTo = 0 }: Renewal): MongoDocument {
  return { leaseMs, rotate, raiseTo }
}

/** Never closer, neither its end nor its number. */
function renewing(renewal: Expression): Expression[] {
  const expiresAt = { $max: ['$expiresAt', { $add: [NOW, '$asked.leaseMs'] }] }
  const grant = { $cond: ['$asked.rotate', NEXT_GRANT, { $max: ['$grant', { $toLong: '$asked.raiseTo' }] }] }
  const prolonged = { $set: { leaseMs: '$asked.leaseMs', expiresAt, grant } }
  const kept = { $set: { idleFrom: idleFrom('$expiresAt', '$grant') } }
  return [{ $set: { asked: renewal } }, prolonged, kept, { $unset: 'asked' }]
}

/** `call` tells one that is repeated, because its reply was lost, that it was the one. */
function freeing(call: string): Expression {
  return { $set: { owner: null, freed: call, ...wakeFirst(call) } }
}

function among(keys: readonly string[]): { q: MongoDocument; multi: true; hint: MongoDocument } {
  return { q: { _id: { $in: keys } }, multi: true, hint: ID }
}

/** The item that belongs to the record. The server looks it up as in a map. */
function itemOf(keys: readonly string[], items: readonly Expression[]): Expression {
  return { $arrayElemAt: [{ $literal: items }, { $indexOfArray: [{ $literal: keys }, '$_id'] }] }
}

function ownerOf(claims: readonly Claim[]): Expression {
  return itemOf(
    claims.map(({ key }) => key),
    claims.map(({ owner }) => owner),
  )
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
