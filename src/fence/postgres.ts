import { describeError, LockError } from '../errors.ts'
import { has } from '../databases/methods.ts'
import { isPgClient, isPgPool, transactionStatus } from '../databases/pg.ts'
import { isPostgresJs, isPostgresJsQueryable } from '../databases/postgres-js.ts'
import type { CheckOptions, Fence, FenceQuery, FenceTransaction, Token } from './fence.ts'
import type { Lender } from './lender.ts'
import { rowsOf, seenIn, textIn, tokenIn } from './rows.ts'
import type { PostgresFenceSql } from './sql.ts'
import { tableProblem, unavailable } from './table-problem.ts'
import { checkResource, claimOf, invalid, judge, type Manner } from './verdict.ts'

export class PostgresFence implements Fence {
  readonly #lender: Lender
  readonly #sql: PostgresFenceSql
  readonly #manner: Manner
  #opening: Promise<void> | undefined
  /** The table has been seen. It may be dropped since; then the next check looks again. */
  #ready = false

  constructor(lender: Lender, sql: PostgresFenceSql, manner: Manner) {
    this.#lender = lender
    this.#sql = sql
    this.#manner = manner
  }

  async open(): Promise<void> {
    if (this.#ready) return
    this.#opening ??= this.#prepare().finally(() => (this.#opening = undefined))
    await this.#opening
  }

  async check(tx: FenceTransaction, resource: string, token: Token, options?: CheckOptions): Promise<void> {
    const claim = claimOf(resource, token, options, this.#manner.strict)
    const query = queryOf(tx)
    let seen: bigint
    try {
      if (!this.#ready) await this.#look(query)
      seen = seenIn(rowsOf(await query(this.#sql.check, [claim.resource, String(claim.token)])))
    } catch (error) {
      const problem = tableProblem(error, this.#sql)
      if (problem) this.#ready = false
      // All else is about the caller's transaction, who knows its own errors: 40001 wants it run again.
      throw problem ?? error
    }
    // The reply itself tells, so it is true also if BEGIN was still on its way when the check was called.
    if (isPgClient(tx) && transactionStatus(tx) === 'I')
      throw outside('BEGIN has not been sent on this client')
    judge(claim, seen)
  }

  async highest(resource: string): Promise<bigint | null> {
    const name = checkResource(resource)
    await this.open()
    return tokenIn(await this.#ask(this.#sql.highest, [name]))
  }

  async forget(resource: string): Promise<boolean> {
    const name = checkResource(resource)
    await this.open()
    return tokenIn(await this.#ask(this.#sql.forget, [name])) !== null
  }

  /**
   * From inside a transaction, which a statement that fails would end, and where a new table would stay
   * unseen and locked until the commit: it only looks here, and creates elsewhere.
   */
  async #look(query: FenceQuery): Promise<void> {
    if (textIn(rowsOf(await query(this.#sql.exists, []))) === 'yes') {
      this.#ready = true
      return
    }
    if (this.#manner.create && !this.#lender.aside) {
      throw invalid(
        `the table ${this.#sql.table} is missing, and with a single client it cannot be created beside the ` +
          'transaction; call open() of the guard before it begins',
      )
    }
    await this.open()
  }

  async #prepare(): Promise<void> {
    const { create, exists, check, ddl, grants, table } = this.#sql
    if (textIn(await this.#ask(exists)) === 'no') {
      if (!this.#manner.create) {
        throw unavailable(
          `the table ${table} is missing; with create: false, let someone create it:\n${ddl}\n` +
            `and grant the user ${grants}`,
        )
      }
      if (this.#lender.engaged) throw invalid('open() creates a table: call it before the transaction begins')
      await this.#ask(create, [], true)
    }
    // Plans the check without running it: fails on other columns and on missing rights.
    await this.#ask(`explain ${check}`, ['open', '1'])
    this.#ready = true
  }

  async #ask(text: string, values: string[] = [], creating = false): Promise<readonly unknown[]> {
    try {
      return await this.#lender.query(text, values)
    } catch (error) {
      const problem = tableProblem(error, this.#sql, creating)
      if (problem) this.#ready = false
      if (problem || error instanceof LockError) throw problem ?? error
      throw unavailable(`the database cannot be asked for ${this.#sql.table}: ${describeError(error)}`, error)
    }
  }
}

function queryOf(tx: unknown): FenceQuery {
  if (isPgPool(tx)) throw outside('this is the pool; pass the client that has begun one')
  if (isPostgresJs(tx)) throw outside('this is the instance; pass what begin() passes to its function')
  if (isPostgresJsQueryable(tx)) return (text, values) => tx.unsafe(text, values as never[])
  if (isPgClient(tx)) return (text, values) => tx.query({ text, values })
  if (typeof tx === 'function' && !has(tx, 'raw')) return tx as FenceQuery
  throw invalid(
    'check: give a client of pg, a transaction of postgres.js, or for an ORM a function (text, values) => rows ' +
      'that runs a statement in its transaction',
  )
}

function outside(why: string): LockError {
  return invalid(`check: outside of a transaction a check protects nothing: ${why}`)
}
