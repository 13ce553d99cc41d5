import { describeError, LockError } from '../errors.ts'
import type { FenceQuery } from './fence.ts'
import type { Lender } from './lender.ts'
import { rowsOf, textIn } from './rows.ts'
import type { ServerFenceSql } from './sql.ts'
import { isMissing, tableProblem, unavailable } from './table-problem.ts'
import { invalid } from './verdict.ts'

/** The table of a guard in PostgreSQL or MySQL: made when it is first needed, used from inside and beside transactions. */
export class FenceTable {
  readonly #lender: Lender
  readonly #sql: ServerFenceSql
  readonly #create: boolean
  #opening: Promise<void> | undefined
  /** The table has been seen. It may be dropped since; then the next check looks again. */
  #ready = false

  constructor(lender: Lender, sql: ServerFenceSql, create: boolean) {
    this.#lender = lender
    this.#sql = sql
    this.#create = create
  }

  async open(): Promise<void> {
    if (this.#ready) return
    this.#opening ??= this.#prepare().finally(() => (this.#opening = undefined))
    await this.#opening
  }

  /** The statements of a check, which `query` runs in the caller's transaction. */
  async check<T>(query: FenceQuery, statements: () => T | PromiseLike<T>): Promise<T> {
    try {
      if (this.#ready) return await statements()
      const result = await (this.#sql.looksBefore
        ? this.#afterLook(query, statements)
        : this.#tried(statements))
      this.#ready = true
      return result
    } catch (error) {
      const problem = tableProblem(error, this.#sql)
      if (problem) this.#ready = false
      // All else is about the transaction of the caller, who knows its errors: 40001 and 1213 want it run again.
      throw problem ?? error
    }
  }

  /** A statement beside all transactions. */
  async ask(text: string, values: string[]): Promise<readonly unknown[]> {
    await this.open()
    return this.#ask(text, values)
  }

  /** A statement that fails would end the transaction, where a new table would stay unseen and locked until the commit. */
  async #afterLook<T>(query: FenceQuery, statements: () => T | PromiseLike<T>): Promise<T> {
    if (!isFound(rowsOf(await query(this.#sql.exists, [])))) await this.#make()
    return statements()
  }

  /**
   * Nothing may be read before the check: what the transaction reads by plain selects is as of its first read, which
   * would be before the check has waited for others. A table that is missing does not end the transaction.
   */
  async #tried<T>(statements: () => T | PromiseLike<T>): Promise<T> {
    try {
      return await statements()
    } catch (error) {
      if (!isMissing(error)) throw error
    }
    await this.#make()
    return statements()
  }

  /** Beside the transaction that needs the table; in MySQL creating it inside would commit that. */
  async #make(): Promise<void> {
    const { single } = this.#lender
    if (this.#create && single) {
      throw invalid(
        `the table ${this.#sql.table} is missing, and with a single ${single.what} it cannot be created beside the ` +
          'transaction; call open() of the guard before it begins',
      )
    }
    await this.open()
  }

  async #prepare(): Promise<void> {
    const { create, exists, check, ddl, grants, table } = this.#sql
    if (!isFound(await this.#ask(exists))) {
      if (!this.#create) {
        throw unavailable(
          `the table ${table} is missing; with create: false, let someone create it:\n${ddl}\n` +
            `and grant the user ${grants}`,
        )
      }
      if (await this.#lender.single?.isEngaged())
        throw invalid('open() creates a table: call it before the transaction begins')
      await this.#ask(create, [], true)
    }
    // Plans the check without running it: fails on other columns and on missing rights. `00` is a name, and hexadecimal.
    await this.#ask(`explain ${check}`, ['00', '1'])
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

function isFound(rows: readonly unknown[]): boolean {
  return textIn(rows) === 'yes'
}
