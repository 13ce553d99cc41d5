import type { Database } from './database.ts'

export interface Account {
  readonly code: string
  readonly start: number
  readonly stock: number
  readonly sold: number
  readonly adjusted: number
  /** Sold, but never taken from the shelf. 0 in good books; below 0, taken and never sold. */
  readonly oversold: number
}

/** In one statement, so that all numbers are of one moment, whatever goes on meanwhile. */
const ACCOUNTS = `
  select s.commodity_code as code, s.count as stock, b.count as start_count,
         coalesce(sum(o.sold), 0) as sold, coalesce(sum(o.adjusted), 0) as adjusted
    from storage_tbl s
    join start_tbl b on b.commodity_code = s.commodity_code
    left join order_tbl o on o.commodity_code = s.commodity_code
   group by s.commodity_code, s.count, b.count
   order by s.commodity_code`

/** stock + sold = start + adjusted, for each commodity. */
export async function readBooks(database: Database): Promise<readonly Account[]> {
  const rows = await database.sql(ACCOUNTS)
  return rows.map((row) => {
    const [start, stock, sold, adjusted] = [
      row['start_count'],
      row['stock'],
      row['sold'],
      row['adjusted'],
    ].map(Number) as [number, number, number, number]
    return {
      code: String(row['code']),
      start,
      stock,
      sold,
      adjusted,
      oversold: stock + sold - start - adjusted,
    }
  })
}

export interface Totals {
  readonly stock: number
  readonly sold: number
  /** What stock and sold together must be. */
  readonly due: number
}

export function totalsOf(accounts: readonly Account[]): Totals {
  const sum = (of: (account: Account) => number): number =>
    accounts.reduce((total, account) => total + of(account), 0)
  return {
    stock: sum(({ stock }) => stock),
    sold: sum(({ sold }) => sold),
    due: sum(({ start, adjusted }) => start + adjusted),
  }
}

/** Every order has its line in the outbox, and no line is without an order. */
export async function countUnmatched(database: Database): Promise<number> {
  const [row] = await database.sql(`
    select (select count(*) from order_tbl o left join outbox_tbl x on x.order_id = o.order_id where x.order_id is null)
         + (select count(*) from outbox_tbl x left join order_tbl o on o.order_id = x.order_id where o.order_id is null)
        as unmatched`)
  return Number(row?.['unmatched'])
}
