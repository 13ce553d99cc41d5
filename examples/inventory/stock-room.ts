import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { locked } from '../../src/decorators.ts'
import type { Locks } from '../../src/index.ts'
import type { Database, Sql } from './database.ts'
import { Refusal, StockUnavailable } from './refusal.ts'
import { answered, remember } from './repeats.ts'
import type { Operation, Order } from './requests.ts'

/** As in the shops that this is taken from: it is known only after the update, and undoes it. */
const PER_ORDER_LIMIT = 10

/** `locks`: as it should be. `rows`: SELECT … FOR UPDATE instead. `none`: nothing keeps two from selling the same piece. */
export type Keeping = 'locks' | 'rows' | 'none'

export interface Sale {
  readonly orderId: string
  readonly commodityCode: string
  readonly count: number
  readonly left: number
}

export interface StockRoomOptions {
  readonly service: string
  readonly locks: Locks
  readonly database: Database
  /** What an order costs besides the database: a price, a payment. */
  readonly thinkMs: number
  /** Told before and after that time, so that a demonstration knows whom to disturb. */
  readonly onThinking?: (code: string | null) => void
}

/** All that either service does to the stock. */
export class StockRoom {
  keeping: Keeping = 'locks'
  /** Orders whose transaction is open. */
  writing = 0
  readonly locks: Locks
  readonly #options: StockRoomOptions

  constructor(options: StockRoomOptions) {
    this.locks = options.locks
    this.#options = options
  }

  async count(code: string): Promise<number> {
    const [count] = await this.#counts(this.#options.database.sql, [code])
    return count as number
  }

  /** All of the order, or nothing. */
  async fulfil(order: Order): Promise<readonly Sale[]> {
    if (this.keeping === 'locks') return this.keep(order)
    const { database } = this.#options
    // The rows are locked from the first look on, for as long as the whole order takes.
    if (this.keeping === 'rows') return database.plain((sql) => this.#inOne(sql, order))
    return this.#lookThinkWrite(order, (work) => database.plain((sql) => work(sql, '0')))
  }

  @locked((self: StockRoom) => self.locks, {
    key: ({ operations }: Order) => operations.map(({ code }) => `stock:${code}`),
    context: ({ context }: Order) => context,
  })
  async keep(order: Order): Promise<readonly Sale[]> {
    const { database, locks } = this.#options
    const keys = order.operations.map(({ code }) => `stock:${code}`)
    return this.#lookThinkWrite(order, (work) =>
      // Enters the same locks again, and shows their tokens to the fence before anything is written.
      database.guarded(locks, keys, (sql, lease) =>
        work(sql, keys.map((key) => String(lease.tokenFor(key))).join(' ')),
      ),
    )
  }

  /** What is decided from the first look must still be true at the last write: that is what the lock is for. */
  async #lookThinkWrite(
    order: Order,
    transaction: <T>(work: (sql: Sql, tokens: string) => Promise<T>) => Promise<T>,
  ): Promise<readonly Sale[]> {
    const { sql } = this.#options.database
    const before = await answered(sql, order)
    if (before) return before
    const left = await this.#decide(sql, order)
    await this.#think(order)
    this.writing += 1
    try {
      return await transaction((tx, tokens) => this.#write(tx, order, left, tokens))
    } finally {
      this.writing -= 1
    }
  }

  async #inOne(sql: Sql, order: Order): Promise<readonly Sale[]> {
    const before = await answered(sql, order)
    if (before) return before
    const left = await this.#decide(sql, order, this.#options.database.forUpdate)
    await this.#think(order)
    return this.#write(sql, order, left, '0')
  }

  async #decide(sql: Sql, { operations }: Order, suffix = ''): Promise<readonly number[]> {
    const codes = operations.map(({ code }) => code)
    const counts = await this.#counts(sql, codes, suffix)
    return operations.map(({ kind, count, code }, i) => {
      const now = counts[i] as number
      if (kind === 'SET') return count
      if (kind === 'ADD') return now + count
      if (now < count) throw new Refusal(409, 'out-of-stock', `only ${now} of ${code} are left`)
      return now - count
    })
  }

  async #counts(sql: Sql, codes: readonly string[], suffix = ''): Promise<readonly number[]> {
    // In one order everywhere, so that two batches never wait for each other's rows.
    const sorted = [...codes].sort()
    const rows = await sql(
      `select commodity_code, count from storage_tbl where commodity_code in (${marks(sorted)})
        order by commodity_code${suffix}`,
      sorted,
    ).catch((cause: unknown) => {
      throw new StockUnavailable('the database of the stock did not answer', { cause })
    })
    const counts = new Map(rows.map((row) => [String(row['commodity_code']), Number(row['count'])]))
    return codes.map((code) => {
      const count = counts.get(code)
      if (count === undefined) throw new Refusal(404, 'unknown-commodity', `there is no commodity ${code}`)
      return count
    })
  }

  async #think({ operations }: Order): Promise<void> {
    const { thinkMs, onThinking } = this.#options
    if (thinkMs === 0) return
    onThinking?.((operations[0] as Operation).code)
    await sleep(thinkMs * (0.5 + Math.random()))
    onThinking?.(null)
  }

  async #write(sql: Sql, order: Order, left: readonly number[], tokens: string): Promise<readonly Sale[]> {
    const sales: Sale[] = []
    for (const [i, { code, kind, count }] of order.operations.entries()) {
      const now = left[i] as number
      const [row] =
        kind === 'SET' ? await sql('select count from storage_tbl where commodity_code = ?', [code]) : []
      await sql('update storage_tbl set count = ? where commodity_code = ?', [now, code])
      if (kind === 'DEDUCT' && count > PER_ORDER_LIMIT)
        throw new Refusal(422, 'too-many', `an order takes at most ${PER_ORDER_LIMIT} of a commodity`)
      const orderId = randomUUID()
      const sold = kind === 'DEDUCT' ? count : 0
      const adjusted = kind === 'ADD' ? count : kind === 'SET' ? count - Number(row?.['count']) : 0
      await sql(
        `insert into order_tbl (order_id, commodity_code, sold, adjusted, service, context, token)
         values (?, ?, ?, ?, ?, ?, ?)`,
        [orderId, code, sold, adjusted, this.#options.service, order.context, tokens.split(' ')[i] ?? '0'],
      )
      const message = JSON.stringify({ orderId, code, sold, adjusted })
      await sql('insert into outbox_tbl (order_id, message) values (?, ?)', [orderId, message])
      sales.push({ orderId, commodityCode: code, count, left: now })
    }
    await remember(sql, order, sales)
    return sales
  }
}

function marks(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ')
}
