import { has } from '../databases/methods.ts'
import { isPgClient, isPgPool, transactionStatus } from '../databases/pg.ts'
import { isPostgresJs, isPostgresJsQueryable } from '../databases/postgres-js.ts'
import type { CheckOptions, Fence, FenceQuery, FenceTransaction, Token } from './fence.ts'
import type { Lender } from './lender.ts'
import { rowsOf, seenIn, tokenIn } from './rows.ts'
import type { ServerFenceSql } from './sql.ts'
import { FenceTable } from './table.ts'
import { checkResource, claimOf, invalid, judge, type Manner, outside } from './verdict.ts'

export class PostgresFence implements Fence {
  readonly #sql: ServerFenceSql
  readonly #table: FenceTable
  readonly #strict: boolean

  constructor(lender: Lender, sql: ServerFenceSql, { create, strict }: Manner) {
    this.#sql = sql
    this.#table = new FenceTable(lender, sql, create)
    this.#strict = strict
  }

  open(): Promise<void> {
    return this.#table.open()
  }

  async check(tx: FenceTransaction, resource: string, token: Token, options?: CheckOptions): Promise<void> {
    const claim = claimOf(resource, token, options, this.#strict)
    const query = queryOf(tx)
    const values = [claim.resource, String(claim.token)]
    const seen = seenIn(rowsOf(await this.#table.check(query, () => query(this.#sql.check, values))))
    // The reply itself tells, so it is true also if BEGIN was still on its way when the check was called.
    if (isPgClient(tx) && transactionStatus(tx) === 'I')
      throw outside('BEGIN has not been sent on this client')
    judge(claim, seen)
  }

  async highest(resource: string): Promise<bigint | null> {
    return tokenIn(await this.#table.ask(this.#sql.highest, [checkResource(resource)]))
  }

  async forget(resource: string): Promise<boolean> {
    return tokenIn(await this.#table.ask(this.#sql.forget, [checkResource(resource)])) !== null
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
