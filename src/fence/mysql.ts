import { has } from '../databases/methods.ts'
import { isMysqlClient, isMysqlPool, promised } from '../databases/mysql.ts'
import { MysqlSession, textOf } from '../databases/mysql-session.ts'
import { dialectOf, type MysqlDialect } from '../databases/mysql-version.ts'
import type { CheckOptions, Fence, FenceQuery, FenceTransaction, Token } from './fence.ts'
import type { Lender } from './lender.ts'
import { rowsOf, seenIn, textIn, tokenIn } from './rows.ts'
import type { MysqlFenceSql } from './sql.ts'
import { FenceTable } from './table.ts'
import { checkResource, claimOf, invalid, judge, type Manner, outside } from './verdict.ts'

export class MysqlFence implements Fence {
  readonly #sql: MysqlFenceSql
  readonly #table: FenceTable
  readonly #strict: boolean
  /** Once the server has said who it is. */
  #dialect: MysqlDialect | undefined

  constructor(lender: Lender, sql: MysqlFenceSql, { create, strict }: Manner) {
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
    const [name, number] = [hexOf(claim.resource), String(claim.token)]
    judge(claim, await this.#table.check(query, () => this.#seen(query, name, number)))
  }

  async highest(resource: string): Promise<bigint | null> {
    return tokenIn(await this.#table.ask(this.#sql.highest, [hexOf(checkResource(resource))]))
  }

  async forget(resource: string): Promise<boolean> {
    const known = (await this.highest(resource)) !== null
    if (known) await this.#table.ask(this.#sql.forget, [hexOf(resource)])
    return known
  }

  async #seen(query: FenceQuery, name: string, token: string): Promise<bigint> {
    const { check, previous, returning, version } = this.#sql
    this.#dialect ??= dialectOf(textIn(rowsOf(await query(version, []))) ?? '')
    if (!this.#dialect.returning) {
      // The row is ours until the transaction ends, so that nobody changes it in between.
      await query(check, [name, token])
      return seenIn(rowsOf(await query(previous, [name])))
    }
    const rows = rowsOf(await query(`${check} ${returning}`, [name, token]))
    const [row = '', where] = (textIn(rows) ?? '').split(' ')
    if (where === 'outside') throw outside('none has begun on this connection')
    return seenIn([[row]])
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
