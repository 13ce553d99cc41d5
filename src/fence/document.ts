import { has } from '../databases/methods.ts'
import type { MongoDocument } from '../databases/mongo.ts'
import { codeOf } from '../databases/mongo-transaction.ts'
import { checkFlag, checkNames } from '../option-check.ts'
import type { CheckOptions, Token } from './fence.ts'
import { EXACTLY, storedToken } from './mongo-token.ts'
import { type Claim, claimOf, invalid, judge } from './verdict.ts'

/** The part of a `Collection` of the `mongodb` driver, 6 or 7, that a guard needs. */
export interface FencedCollection {
  readonly collectionName: string
  updateOne(filter: never, update: never, options?: object): Promise<UpdateCount>
  findOne(filter: never, options?: object): Promise<unknown>
}

interface UpdateCount {
  readonly matchedCount: number
}

export interface DocumentFenceOptions extends CheckOptions {
  /** The field of a document that has its highest token. Default `fence`. */
  readonly field?: string | undefined
}

export interface FencedUpdateOptions extends CheckOptions {
  /** Insert if no document matches the filter. As with any upsert, the filter needs a unique index. */
  readonly upsert?: boolean | undefined
}

/** A guard for single documents, on any MongoDB server, without a transaction. */
export interface DocumentFence<C extends FencedCollection> {
  /**
   * As `updateOne` with majority write concern, if the document has seen no higher token; the token is stored in the
   * same step. Rejects with STALE_TOKEN if it has, and changes nothing.
   */
  update(
    filter: Parameters<C['updateOne']>[0],
    update: Parameters<C['updateOne']>[1],
    token: Token,
    options?: FencedUpdateOptions,
  ): ReturnType<C['updateOne']>

  /** The highest token that the document has seen; null if there is no document, or none was seen. */
  highest(filter: Parameters<C['findOne']>[0]): Promise<bigint | null>
}

const DUPLICATE_KEY = 11000
/** A document that was found in the way may be gone, or another, when it is looked at. */
const TRIES = 5

/** The fence goes with its document: mark a document as deleted rather than delete it. */
export function documentFence<C extends FencedCollection>(
  collection: C,
  options: DocumentFenceOptions = {},
): DocumentFence<C> {
  if (!has(collection, 'updateOne', 'findOne')) throw invalid('give a collection of the mongodb driver')
  checkNames('documentFence', options, ['field', 'strict'])
  const { field = 'fence' } = options
  // Dots would make it a path, and a dollar an operator.
  if (typeof field !== 'string' || !/^[^.$\0][^.\0]*$/.test(field))
    throw invalid('field: give the name of a field')
  const strict = checkFlag('fence: strict', options.strict, false)
  const guard = new DocumentGuard(collection as unknown as Untyped, field)
  return {
    update(filter, update, token, options = {}) {
      return guard.update(filter, update, token, options, strict) as ReturnType<C['updateOne']>
    },
    highest: (filter) => guard.highest(filter),
  }
}

interface Untyped {
  readonly collectionName: string
  updateOne(filter: unknown, update: unknown, options: object): Promise<UpdateCount>
  findOne(filter: unknown, options: object): Promise<MongoDocument | null>
}

class DocumentGuard {
  readonly #collection: Untyped
  readonly #field: string

  constructor(collection: Untyped, field: string) {
    this.#collection = collection
    this.#field = field
  }

  async update(
    filter: unknown,
    update: unknown,
    token: Token,
    given: FencedUpdateOptions,
    strictly: boolean,
  ): Promise<UpdateCount> {
    checkNames('documentFence: update', given, ['strict', 'upsert'])
    const { upsert: wished, ...options } = given
    const claim = claimOf(this.#collection.collectionName, token, options, strictly)
    const upsert = checkFlag('fence: upsert', wished, false)
    const change = this.#withToken(update, claim.token)
    let duplicate: Error | null = null
    for (let tries = 0; tries < TRIES; tries += 1) {
      const result = await this.#send(filter, change, claim, false)
      if (result.matchedCount > 0) return result
      const seen = await this.#seenBy(filter)
      if (seen !== null) judge(claim, seen)
      else if (!upsert) return result
      else {
        try {
          return await this.#send(filter, change, claim, true)
        } catch (error) {
          // Another upsert was faster, perhaps with a higher token.
          if (codeOf(error) !== DUPLICATE_KEY) throw error
          duplicate = error as Error
        }
      }
    }
    throw (
      duplicate ??
      invalid(
        'update: the document changes all the time in a way that the filter is about; filter by what stays, such as _id',
      )
    )
  }

  async highest(filter: unknown): Promise<bigint | null> {
    return (await this.#seenBy(filter)) || null
  }

  #send(filter: unknown, change: unknown, { token, strict }: Claim, upsert: boolean): Promise<UpdateCount> {
    const passed = { [this.#field]: strict ? { $lt: token } : { $lte: token } }
    const guarded = { $and: [filter, { $or: [{ [this.#field]: null }, passed] }] }
    return this.#collection.updateOne(guarded, change, { upsert, writeConcern: { w: 'majority' } })
  }

  /** Null: no such document. 0: it has seen none. */
  async #seenBy(filter: unknown): Promise<bigint | null> {
    const found = await this.#collection.findOne(filter, {
      ...EXACTLY,
      projection: { [this.#field]: 1 },
      readConcern: { level: 'local' },
    })
    if (!found) return null
    const token = found[this.#field] ?? 0n
    return storedToken(token, `a document of ${this.#collection.collectionName}`)
  }

  #withToken(update: unknown, token: bigint): unknown {
    if (Array.isArray(update)) return [...(update as unknown[]), { $set: { [this.#field]: token } }]
    const operators = typeof update === 'object' && update !== null ? (update as MongoDocument) : {}
    const names = Object.keys(operators)
    if (names.length === 0 || !names.every((name) => name.startsWith('$'))) {
      throw invalid(
        'update: give operators such as $set, or a pipeline; a whole document would drop the fence',
      )
    }
    return { ...operators, $max: { ...(operators['$max'] as object | undefined), [this.#field]: token } }
  }
}
