import { beforeEach, expect, it } from 'vitest'
import { type Fence, fence, type FenceDatabase, type FenceTransaction } from '../../src/fence/index.ts'

const STALE = expect.objectContaining({ code: 'STALE_TOKEN' })
const HIGHEST = 2n ** 63n - 1n

/** A database in which a check waits for the transaction before it, and a way to ask it. */
export interface Stage {
  readonly db: FenceDatabase
  transact<T>(work: (tx: FenceTransaction) => Promise<T>): Promise<T>
  /** Resolves when a statement waits for another transaction. */
  someoneWaits(): Promise<void>
}

/** What a check guarantees on every server with tables. `stage` is asked in each test. */
export function checksOn(stage: () => Stage, newTable: () => string): void {
  let table: string
  let guard: Fence

  beforeEach(() => {
    table = newTable()
    guard = fence(stage().db, { table })
  })

  const raise = (token: bigint, resource = 'r'): Promise<void> =>
    stage().transact((tx) => guard.check(tx, resource, token))

  it('refuses a token lower than the highest seen, and says which both are', async () => {
    for (const token of [5n, 9n, 9n]) await raise(token, 'stock:7')
    await expect(raise(8n, 'stock:7')).rejects.toThrow(
      expect.objectContaining({
        code: 'STALE_TOKEN',
        key: 'stock:7',
        message: expect.stringMatching(/\b8\b.*\b9\b/),
      }),
    )
    expect(await guard.highest('stock:7')).toBe(9n)
    expect(await guard.highest('stock:8')).toBeNull()
  })

  it('is exact for the highest tokens, where numbers are not', async () => {
    await raise(HIGHEST - 1n)
    await raise(HIGHEST)
    await expect(raise(HIGHEST - 1n)).rejects.toThrow(STALE)
    expect(await guard.highest('r')).toBe(HIGHEST)
  })

  it('makes the second writer wait for the first, then judges it by what was committed', async () => {
    await guard.open()
    for (const resource of ['lower', 'higher']) {
      const late: Promise<void>[] = []
      await stage().transact(async (tx) => {
        await guard.check(tx, resource, 9n)
        late.push(raise(resource === 'lower' ? 8n : 10n, resource))
        void Promise.allSettled(late)
        await stage().someoneWaits()
      })
      if (resource === 'lower') await expect(late[0]).rejects.toThrow(STALE)
      else await late[0]
      expect(await guard.highest(resource)).toBe(resource === 'lower' ? 9n : 10n)
    }
  })

  it('counts a token as seen when the transaction commits, not before and not if it rolls back', async () => {
    await raise(5n)
    let lower: Promise<void> | undefined
    const rolledBack = stage().transact(async (tx) => {
      await guard.check(tx, 'r', 9n)
      expect(await guard.highest('r')).toBe(5n)
      lower = raise(6n)
      await stage().someoneWaits()
      throw new Error('mine')
    })
    await expect(rolledBack).rejects.toThrow('mine')
    await lower
    expect(await guard.highest('r')).toBe(6n)
  })

  it('changes nothing if a refused writer commits all the same', async () => {
    await raise(9n)
    await stage().transact((tx) => guard.check(tx, 'r', 5n).catch(() => undefined))
    expect(await guard.highest('r')).toBe(9n)
    await raise(9n)
  })

  it('lets a strict check pass once per token', async () => {
    guard = fence(stage().db, { table, strict: true })
    await raise(5n)
    await expect(raise(5n)).rejects.toThrow(STALE)
    await expect(
      stage().transact((tx) => guard.check(tx, 'r', 9n).then(() => guard.check(tx, 'r', 9n))),
    ).rejects.toThrow(STALE)
    await raise(6n)
    await stage().transact((tx) => guard.check(tx, 'r', 6n, { strict: false }))
    // Two at once, with a token that nobody has used: one of them.
    const both = await Promise.allSettled([raise(7n), raise(7n)])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  it('forgets when told to, and then lets any token pass', async () => {
    expect(await guard.forget('r')).toBe(false)
    await raise(9n)
    expect(await guard.forget('r')).toBe(true)
    expect(await guard.forget('r')).toBe(false)
    expect(await guard.highest('r')).toBeNull()
    await raise(1n)
  })

  it.each([
    "'; drop table holdfast_fence; --",
    '$1',
    '?',
    '{"a":1}',
    '\\',
    '%',
    'NULL',
    'trailing ',
    'Case',
    '日本 🔒',
    'x'.repeat(512),
  ])('takes %j for a name and nothing else', async (resource) => {
    await raise(5n, resource)
    await expect(raise(4n, resource)).rejects.toThrow(STALE)
    await raise(1n, `${resource.slice(0, 200)} `.toUpperCase())
    expect(await guard.highest(resource)).toBe(5n)
    expect(await guard.forget(resource)).toBe(true)
  })
}
