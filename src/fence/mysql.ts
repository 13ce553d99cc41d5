import { has } from '../databases/methods.ts'
import { isMysqlClient, isMysqlPool, promised } from '../databases/mysql.ts'
import { MysqlSession, textOf } from '../databases/mysql-session.ts'
import { dialectOf } from '../databases/mysql-version.ts'
import { describeError, LockError } from '../errors.ts'
import type { CheckOptions, Fence, FenceQuery, FenceTransaction, Token } from './fence.ts'
import type { Lender } from './lender.ts'
import { rowsOf, seenIn, textIn, tokenIn } from './rows.ts'
import type { MysqlFenceSql } from './sql.ts'
import { tableProblem, unavailable } from './table-problem.ts'
import { checkResource, claimOf, invalid, judge, type Manner } from './verdict.ts'

export class MysqlFence implements Fence {
  readonly #lender: Lender
  readonly #sql: MysqlFenceSql
  readonly #manner: Manner
  #opening: Promise<void> | undefined
  /** The table has been seen. It may be dropped since; then the next check looks again. */
  #ready = false
  /** Whether the check itself returns the row; else it takes a second statement to read it. */
  #returning = false

  constructor(lender: Lender, sql: MysqlFenceSql, manner: Manner) {
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
      seen = await this.#seen(query, [hexOf(claim.resource), String(claim.token)])
    } catch (error) {
      const problem = tableProblem(error, this.#sql)
      if (problem) this.#ready = false
      // All else is about the caller's transaction, who knows its own errors: 1213 wants it run again.
      throw problem ?? error
    }
    judge(claim, seen)
  }

  async highest(resource: string): Promise<bigint | null> {
    const name = checkResource(resource)
    await this.open()
    return tokenIn(await this.#ask(this.#sql.highest, [hexOf(name)]))
  }

  async forget(resource: string): Promise<boolean> {
    const known = (await this.highest(resource)) !== null
    if (known) await this.#ask(this.#sql.forget, [hexOf(resource)])
    return known
  }

  async #seen(query: FenceQuery, values: [resource: string, token: string]): Promise<bigint> {
    const { check, previous, returning } = this.#sql
    if (!this.#returning) {
      // The row is ours until the transaction ends, so that nobody changes it in between.
      await query(check, values)
      return seenIn(rowsOf(await query(previous, [values[0]])))
    }
    const [row = '', where] = (textIn(rowsOf(await query(`${check} ${returning}`, values))) ?? '').split(' ')
    if (where === 'outside') throw outside('none has begun on this connection')
    return seenIn([[row]])
  }

  /** As with PostgreSQL: from inside a transaction it only looks. Here, creating a table would even commit it. */
  async #look(query: FenceQuery): Promise<void> {
    if (this.#found(rowsOf(await query(this.#sql.exists, [])))) {
      this.#ready = true
      return
    }
    if (this.#manner.create && !this.#lender.aside) {
      throw invalid(
        `the table ${this.#sql.table} is missing, and with a single connection it cannot be created beside the ` +
          'transaction; call open() of the guard before it begins',
      )
    }
    await this.open()
  }

  /** `yes` or `no`, and the version of the server. */
  #found(rows: readonly unknown[]): boolean {
    const [found, version = ''] = (textIn(rows) ?? '').split(' ')
    this.#returning = dialectOf(version).returning
    return found === 'yes'
  }

  async #prepare(): Promise<void> {
    const { create, exists, check, ddl, grants, table } = this.#sql
    if (!this.#found(await this.#ask(exists))) {
      if (!this.#manner.create) {
        throw unavailable(
          `the table ${table} is missing; with create: false, let someone create it:\n${ddl}\n` +
            `and grant the user ${grants}`,
        )
      }
      await this.#ask(create, [], true)
    }
    // Plans the check without running it: fails on other columns and on missing rights.
    await this.#ask(`explain ${check}`, [hexOf('open'), '1'])
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

/** Statements on one connection. Values are hexadecimal or decimal digits, so that they need no escaping. */
export async function askOn(session: MysqlSession, text: string, values: string[] = []): Promise<string[][]> {
  const left = [...values]
  const { rows } = await session.query(text.replaceAll('?', () => `'${left.shift() ?? ''}'`))
  return rows.map((row) => row.map(textOf))
}

function queryOf(tx: unknown): FenceQuery {
  if (isMysqlClient(tx)) {
    const client = promised(tx)
    if (isMysqlPool(client)) throw outside('this is the pool; pass the connection that has begun one')
    const session = new MysqlSession(client)
    return (text, values) => askOn(session, text, values)
  }
  if (typeof tx === 'function' && !has(tx, 'raw')) return tx as FenceQuery
  throw invalid(
    'check: give a connection of mysql2 or mariadb, or for an ORM a function (text, values) => rows that runs a ' +
      'statement in its transaction',
  )
}

/** No character set or escaping comes in between. */
function hexOf(resource: string): string {
  return Buffer.from(resource).toString('hex')
}

function outside(why: string): LockError {
  return invalid(`check: outside of a transaction a check protects nothing: ${why}`)
}
