import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { countUnmatched, readBooks } from '../../examples/inventory/books.ts'
import { type Database, openDatabase } from '../../examples/inventory/database.ts'
import { Fleet } from '../../examples/inventory/fleet.ts'
import type { Instance } from '../../examples/inventory/instance.ts'
import { stockUp } from '../../examples/inventory/schema.ts'
import { fence } from '../../src/fence/index.ts'
import { createLocks, type Locks } from '../../src/index.ts'
import { databaseAt } from '../support/sqlite-stage.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-inventory-'))
const lockFile = join(folder, 'locks.db')
const fleet = new Fleet({
  locks: `sqlite:${lockFile}`,
  stock: `sqlite:${join(folder, 'stock.db')}`,
  keeping: 'locks',
  thinkMs: 0,
  lease: '10s',
  wait: '1s',
})
let database: Database
let other: Locks
let storage: Instance
let business: Instance

beforeAll(async () => {
  database = await openDatabase(`sqlite:${join(folder, 'stock.db')}`)
  other = createLocks(`sqlite:${lockFile}`, { service: 'someone-else', logger: null })
  await fleet.start(1)
  ;[business, storage] = fleet.instances as [Instance, Instance]
})

beforeEach(() => stockUp(database, ['SKU-1', 'SKU-2'], 20))

afterAll(async () => {
  await fleet.stop()
  await other.close()
  await database.close()
  rmSync(folder, { recursive: true, force: true })
})

function post(
  service: Instance,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

async function stockOf(code: string): Promise<number> {
  const { count } = (await (await fetch(`${storage.url}/stock/${code}`)).json()) as { count: number }
  return count
}

async function booksAreRight(): Promise<void> {
  expect((await readBooks(database)).map(({ oversold }) => oversold)).toEqual([0, 0])
  expect(await countUnmatched(database)).toBe(0)
  expect((await other.list()).locks).toEqual([])
}

describe('an order of either service', () => {
  it('is taken from the stock, with its order and its line in the outbox', async () => {
    const first = await post(storage, '/deduct', { commodityCode: 'SKU-1', count: 3 })
    expect(first.status).toBe(200)
    expect(await first.json()).toMatchObject({ commodityCode: 'SKU-1', count: 3, left: 17 })
    const second = await post(business, '/direct-deduct', { commodityCode: 'SKU-1', count: 2 })
    expect(await second.json()).toMatchObject({ left: 15 })
    expect(await stockOf('SKU-1')).toBe(15)
    const rows = await database.sql('select service, sold, token from order_tbl order by sold')
    expect(rows).toMatchObject([
      { service: 'business', sold: 2 },
      { service: 'storage', sold: 3 },
    ])
    expect(rows.every(({ token }) => BigInt(String(token)) > 0n)).toBe(true)
    await booksAreRight()
  })

  it('is refused with 409 when there is not enough', async () => {
    await post(business, '/batch', {
      operations: [{ commodityCode: 'SKU-1', count: 2, operationType: 'SET' }],
    })
    const response = await post(storage, '/deduct', { commodityCode: 'SKU-1', count: 3 })
    expect(response.status).toBe(409)
    expect(await stockOf('SKU-1')).toBe(2)
    await booksAreRight()
  })

  it('is rolled back and unlocked when it is above the limit, which is known only after the update', async () => {
    const response = await post(business, '/direct-deduct', { commodityCode: 'SKU-1', count: 11 })
    expect(response.status).toBe(422)
    expect(await stockOf('SKU-1')).toBe(20)
    await booksAreRight()
  })

  it('is 423 with Retry-After while someone else has the commodity, and names no stock', async () => {
    const lease = await other.acquire('stock:SKU-1', { context: 'stocktaking' })
    const response = await post(storage, '/deduct', { commodityCode: 'SKU-1', count: 1 })
    expect(response.status).toBe(423)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await response.text()).toContain('stocktaking')
    await lease.release()
    await booksAreRight()
  })

  it('is 412 when a later holder was at the stock already', async () => {
    const beside = databaseAt(join(folder, 'stock.db'))
    const guard = fence(beside)
    await guard.open()
    beside.exec('begin immediate')
    await guard.check(beside, 'stock:SKU-1', 2n ** 62n)
    beside.exec('commit')
    const response = await post(storage, '/deduct', { commodityCode: 'SKU-1', count: 1 })
    expect(response.status).toBe(412)
    expect(await stockOf('SKU-1')).toBe(20)
    await guard.forget('stock:SKU-1')
    await booksAreRight()
  })

  it('is 503 with Retry-After while the store of the locks is out of order', async () => {
    const beside = databaseAt(lockFile)
    beside.exec('begin exclusive')
    const response = await post(storage, '/deduct', { commodityCode: 'SKU-2', count: 1 })
    beside.exec('rollback')
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('2')
    expect((await post(storage, '/deduct', { commodityCode: 'SKU-2', count: 1 })).status).toBe(200)
  })

  it('is 404 for a commodity that is not there', async () => {
    expect((await post(storage, '/deduct', { commodityCode: 'SKU-9', count: 1 })).status).toBe(404)
    expect((await fetch(`${storage.url}/stock/SKU-9`)).status).toBe(404)
  })

  it.each([-1, 0, 1.5, 1_000_001, 1e300, '1', null, [1], {}, undefined])(
    'is 400 for an amount of %j',
    async (count) => {
      expect((await post(storage, '/deduct', { commodityCode: 'SKU-1', count })).status).toBe(400)
      expect((await post(business, '/direct-deduct', { commodityCode: 'SKU-1', count })).status).toBe(400)
      const operations = [{ commodityCode: 'SKU-1', count, operationType: 'ADD' }]
      expect((await post(business, '/batch', { operations })).status).toBe(400)
      await booksAreRight()
    },
  )

  it.each([
    '',
    '{',
    '[]',
    'null',
    '"x"',
    '{"commodityCode":"a b","count":1}',
    '{"commodityCode":1,"count":1}',
  ])('is 400 for a body of %j', async (body) => {
    expect((await post(storage, '/deduct', body)).status).toBe(400)
    expect((await post(business, '/batch', body)).status).toBe(400)
  })

  it('is carried out once, however often it is sent with the same Idempotency-Key', async () => {
    const order = { commodityCode: 'SKU-1', count: 1 }
    const headers = { 'idempotency-key': 'order-7' }
    const answers = await Promise.all([1, 2, 3].map(() => post(storage, '/deduct', order, headers)))
    const again = await post(storage, '/deduct', order, headers)
    expect(new Set(await Promise.all([...answers, again].map((answer) => answer.text()))).size).toBe(1)
    expect(await stockOf('SKU-1')).toBe(19)
    const reused = await post(storage, '/deduct', { ...order, count: 2 }, headers)
    expect(reused.status).toBe(422)
    await booksAreRight()
  })

  it('can be sent again with its Idempotency-Key after it was refused', async () => {
    const lease = await other.acquire('stock:SKU-1')
    const send = (): Promise<Response> =>
      post(storage, '/deduct', { commodityCode: 'SKU-1', count: 1 }, { 'idempotency-key': 'order-8' })
    expect((await send()).status).toBe(423)
    await lease.release()
    expect((await send()).status).toBe(200)
    await booksAreRight()
  })
})

describe('a batch', () => {
  it('deducts, adds and sets, and keeps the books', async () => {
    const response = await post(business, '/batch', {
      businessContext: 'stocktaking',
      operations: [
        { commodityCode: 'SKU-2', count: 7, operationType: 'SET' },
        { commodityCode: 'SKU-1', count: 5, operationType: 'DEDUCT' },
      ],
    })
    expect(response.status).toBe(200)
    expect([await stockOf('SKU-1'), await stockOf('SKU-2')]).toEqual([15, 7])
    await post(business, '/batch', {
      operations: [{ commodityCode: 'SKU-2', count: 3, operationType: 'ADD' }],
    })
    expect(await stockOf('SKU-2')).toBe(10)
    await booksAreRight()
  })

  it('is all or nothing', async () => {
    const response = await post(business, '/batch', {
      operations: [
        { commodityCode: 'SKU-1', count: 5, operationType: 'ADD' },
        { commodityCode: 'SKU-2', count: 11, operationType: 'DEDUCT' },
      ],
    })
    expect(response.status).toBe(422)
    expect([await stockOf('SKU-1'), await stockOf('SKU-2')]).toEqual([20, 20])
    await booksAreRight()
  })
})
