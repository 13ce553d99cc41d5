import type { Sql } from './database.ts'
import { Refusal } from './refusal.ts'
import type { Order } from './requests.ts'
import type { Sale } from './stock-room.ts'

/** What a request with this key was answered before; null if it was not, or has no key. */
export async function answered(sql: Sql, order: Order): Promise<readonly Sale[] | null> {
  if (order.requestKey === null) return null
  const [row] = await sql('select request, answer from request_tbl where request_key = ?', [order.requestKey])
  if (!row) return null
  if (row['request'] !== JSON.stringify(order.operations))
    throw new Refusal(422, 'key-reused', 'this Idempotency-Key was used for another order')
  return JSON.parse(String(row['answer'])) as Sale[]
}

/** In the transaction of the order: both are stored, or neither. */
export async function remember(sql: Sql, order: Order, sales: readonly Sale[]): Promise<void> {
  if (order.requestKey === null) return
  await sql('insert into request_tbl (request_key, request, answer) values (?, ?, ?)', [
    order.requestKey,
    JSON.stringify(order.operations),
    JSON.stringify(sales),
  ])
}
