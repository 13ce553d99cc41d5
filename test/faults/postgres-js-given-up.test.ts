import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import postgres from 'postgres'
import { afterEach, expect, test } from 'vitest'
import type { Ask } from '../../src/store.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { type TcpProxy, tcpProxy } from '../servers/tcp-proxy.ts'

const ended: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end()
})

const holder = { service: 'test', instance: 'test', context: null }

test('steps that gave up on a locked table leave each later query its own answer', async () => {
  const url = await freshDatabase()
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  ended.push(() => sql.end({ timeout: 0 }))
  const store = postgresStore(sql, { listen: false })
  await store.open()
  const ask = (key: string): Promise<unknown> =>
    store.acquire([{ key, owner: `owner of ${key}`, leaseMs: 60_000, holder }]).catch(() => 'failed')
  await ask('warm')
  const other = new pg.Client(url)
  await other.connect()
  ended.push(() => other.end())
  await other.query('begin; lock table holdfast_locks')

  const givenUp = [ask('a'), ask('b'), ask('c')]
  const queries = Promise.all(
    Array.from({ length: 5 }, async (_, i) => {
      const [row] = await sql.unsafe(`select '${i}' as i`).catch((error: unknown) => [{ i: error }])
      return row?.['i'] as unknown
    }),
  )
  expect(await Promise.all(givenUp)).toEqual(['failed', 'failed', 'failed'])
  await other.query('commit')

  expect(await queries).toEqual(['0', '1', '2', '3', '4'])
})

test('a connection that was opened for a step that gave up still serves others', async () => {
  const url = new URL(await freshDatabase())
  const proxy: TcpProxy = await tcpProxy(Number(url.port))
  ended.push(() => proxy.close())
  url.port = String(proxy.port)
  const sql = postgres(url.href, { max: 1, onnotice: () => {} })
  ended.push(() => sql.end({ timeout: 0 }))
  const store = postgresStore(sql, { listen: false })

  proxy.freeze()
  await expect(store.open()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  proxy.thaw()

  const answer = sql`select 1 as one`.then(([row]) => row)
  expect(await Promise.race([answer, setTimeout(5000, 'no answer')])).toEqual({ one: 1 })
  await store.open()
})

test('G5 a step that gave up before it had a connection does nothing when it gets one', async () => {
  const sql = postgres(await freshDatabase(), { max: 1, onnotice: () => {} })
  ended.push(() => sql.end({ timeout: 0 }))
  const store = postgresStore(sql, { listen: false })
  await store.open()
  const ask = (key: string): Ask => ({ key, owner: `owner of ${key}`, leaseMs: 60_000, holder })
  await store.acquire([ask('held'), ask('renewed')])
  const reserved = await sql.reserve()
  const claim = { key: 'renewed', owner: 'owner of renewed' }

  const steps = await Promise.allSettled([
    store.acquire([ask('a')]),
    store.acquire([ask('b'), ask('c')]),
    store.release([{ key: 'held', owner: 'owner of held' }]),
    store.renew([{ ...claim, leaseMs: 600_000 }]),
    store.evict('held'),
  ])
  expect(steps.map(({ status }) => status)).toEqual(Array(5).fill('rejected'))
  reserved.release()

  const { locks } = await store.list({ prefix: '', limit: 10 })
  expect(locks.map(({ key, leaseMs }) => [key, leaseMs])).toEqual([
    ['held', 60_000],
    ['renewed', 60_000],
  ])
})
