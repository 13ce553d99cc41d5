import {
  isMongoClient,
  isMongoDb,
  isMongoSession,
  type MongoDb,
  type MongoDocument,
} from '../databases/mongo.ts'
import { describeError, LockError } from '../errors.ts'
import type { CheckOptions, Fence, FenceTransaction, Token } from './fence.ts'
import { answered } from './lender.ts'
import { collectionProblem, misfitOf } from './mongo-problem.ts'
import { EXACTLY, storedToken } from './mongo-token.ts'
import { unavailable } from './table-problem.ts'
import { checkResource, claimOf, invalid, judge, type Manner, outside } from './verdict.ts'

const LIMIT_MS = 5000
const NAMESPACE_EXISTS = 48
const MAJORITY = { w: 'majority' }

/** A document for each resource: `_id`, the highest `token`, how many `checks`, and `seenAt`, the last of them. */
export class MongoGuard implements Fence {
  readonly #db: MongoDb
  readonly #name: string
  readonly #manner: Manner
  #opening: Promise<void> | undefined
  #ready = false

  constructor(db: MongoDb, name: string, manner: Manner) {
    this.#db = db
    this.#name = name
    this.#manner = manner
  }

  async open(): Promise<void> {
    if (this.#ready) return
    this.#opening ??= this.#prepare().finally(() => (this.#opening = undefined))
    await this.#opening
  }

  async check(tx: FenceTransaction, resource: string, token: Token, options?: CheckOptions): Promise<void> {
    const claim = claimOf(resource, token, options, this.#manner.strict)
    if (isMongoClient(tx) || isMongoDb(tx)) throw outside('pass the session that has begun one')
    if (!isMongoSession(tx)) throw invalid('check: give the session of the transaction, a ClientSession')
    if (!tx.inTransaction())
      throw outside('withTransaction() or startTransaction() begins one on the session')
    // Beside the transaction: older servers create nothing inside of one.
    await this.open()
    const command = {
      findAndModify: this.#name,
      query: { _id: claim.resource },
      // A write that changes nothing would not conflict with another transaction, so something is counted.
      update: { $max: { token: claim.token }, $inc: { checks: 1 }, $currentDate: { seenAt: true } },
      upsert: true,
      fields: { token: 1 },
    }
    let before: MongoDocument
    try {
      before = await this.#db.command(command, { ...EXACTLY, session: tx })
    } catch (error) {
      const problem = collectionProblem(error, this.#place)
      if (problem) this.#ready = false
      // All else is about the caller's transaction. The label of a conflict wants it run again.
      throw problem ?? error
    }
    judge(claim, this.#tokenIn(before['value'] as MongoDocument | null) ?? 0n)
  }

  async highest(resource: string): Promise<bigint | null> {
    const filter = { _id: checkResource(resource) }
    await this.open()
    const { cursor } = await this.#ask({
      find: this.#name,
      filter,
      limit: 1,
      singleBatch: true,
      readConcern: { level: 'majority' },
    })
    return this.#tokenIn(firstOf(cursor))
  }

  async forget(resource: string): Promise<boolean> {
    const query = { _id: checkResource(resource) }
    await this.open()
    const command = { findAndModify: this.#name, query, remove: true, writeConcern: MAJORITY }
    return ((await this.#ask(command))['value'] ?? null) !== null
  }

  async #prepare(): Promise<void> {
    if (!(await this.#isThere())) {
      if (!this.#manner.create) {
        throw unavailable(
          `the collection ${this.#place} is missing; with create: false, let someone create it`,
        )
      }
      await this.#create()
      // Someone else may have been faster, with something else.
      await this.#isThere()
    }
    this.#ready = true
  }

  /** Throws if what is there cannot be used. */
  async #isThere(): Promise<boolean> {
    const { cursor } = await this.#ask({ listCollections: 1, filter: { name: this.#name } })
    const found = firstOf(cursor)
    const misfit = found && misfitOf(found)
    if (misfit) throw invalid(`the collection ${this.#place} is ${misfit}; give another name as collection`)
    return found !== undefined
  }

  async #create(): Promise<void> {
    try {
      await this.#ask({ create: this.#name, writeConcern: MAJORITY })
    } catch (error) {
      const { cause } = error as { cause?: { code?: unknown } }
      if (cause?.code !== NAMESPACE_EXISTS) throw error
    }
  }

  /** Beside the caller's transaction. */
  async #ask(command: MongoDocument): Promise<MongoDocument> {
    try {
      return await answered(this.#db.command({ ...command, maxTimeMS: LIMIT_MS }, EXACTLY))
    } catch (error) {
      if (error instanceof LockError) throw error
      const problem = collectionProblem(error, this.#place)
      if (problem) this.#ready = false
      throw (
        problem ?? unavailable(`MongoDB cannot be asked for ${this.#place}: ${describeError(error)}`, error)
      )
    }
  }

  #tokenIn(document: MongoDocument | null | undefined): bigint | null {
    return document ? storedToken(document['token'], `the collection ${this.#place}`) : null
  }

  get #place(): string {
    return `${this.#db.databaseName}.${this.#name}`
  }
}

function firstOf(cursor: unknown): MongoDocument | undefined {
  return (cursor as { firstBatch: MongoDocument[] }).firstBatch[0]
}
