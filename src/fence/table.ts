import { describeError, LockError } from '../errors.ts'
import type { FenceQuery } from './fence.ts'
import type { Lender } from './lender.ts'
import { rowsOf, textIn } from './rows.ts'
import type { ServerFenceSql } from './sql.ts'
import { tableProblem, unavailable } from './table-problem.ts'
import { invalid } from './verdict.ts'

/** The table of a guard in PostgreSQL or MySQL: made when it is first needed, used from inside and beside transactions. */
export class FenceTable {
  readonly #lender: Lender
  readonly #sql: ServerFenceSql
  readonly #create: boolean
  #opening: Promise<void> | undefined
  /** The table has been seen. It may be dropped since; then the next check looks again. */
  #ready = false
  #version = ''

  constructor(lender: Lender, sql: ServerFenceSql, create: boolean) {
    this.#lender = lender
    this.#sql = sql
    this.#create = create
  }

  /** What MySQL and MariaDB say of themselves; empty until the table has been looked for. */
  get version(): string {
    return this.#version
  }

  async open(): Promise<void> {
    if (this.#ready) return
    this.#opening ??= this.#prepare().finally(() => (this.#opening = undefined))
    await this.#opening
  }

  /** The statements of a check, which `query` runs in the caller's transaction. */
  async check<T>(query: FenceQuery, statements: () => T | PromiseLike<T>): Promise<T> {
    try {
      if (!this.#ready) await this.#look(query)
      return await statements()
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

  /**
   * From inside a transaction, it only looks, and creates elsewhere. A statement that fails would end a transaction of
   * PostgreSQL, where a new table would stay unseen and locked until the commit; in MySQL creating it would commit.
   */
  async #look(query: FenceQuery): Promise<void> {
    const { single } = this.#lender
    if (this.#isFound(rowsOf(await query(this.#sql.exists, [])))) {
      this.#ready = true
      return
    }
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
    if (!this.#isFound(await this.#ask(exists))) {
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

  #isFound(rows: readonly unknown[]): boolean {
    const [found, version = ''] = (textIn(rows) ?? '').split(' ')
    this.#version = version
    return found === 'yes'
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
