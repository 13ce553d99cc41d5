import { describe, expect, it } from 'vitest'
import { askFor, grantOf } from '../support/asks.ts'
import { databaseAt, freshPath, openStoreAt, processes, storeAt } from '../support/sqlite-stage.ts'

// Starting a process takes most of a second on a busy machine.
const PATIENT = { timeout: 60_000 }

/** How often the event loop came round meanwhile, at most once a millisecond. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  const timer = setInterval(() => (turns += 1), 1)
  await work()
  clearInterval(timer)
  return turns
}

describe('sqlite and a busy file', () => {
  it('waits for the transaction of another process without blocking the event loop', PATIENT, async () => {
    const path = freshPath()
    const store = await openStoreAt(path)
    const [other] = await processes(1)
    await other?.call('block', path, 1200)
    // A blocked loop would stand still for as long as the other transaction lasts, or for slices of it.
    expect(await turnsDuring(() => grantOf(store, askFor('key')))).toBeGreaterThan(50)
  })

  it("does not block on a user's connection that is set to wait, and leaves it so", PATIENT, async () => {
    const path = freshPath()
    const db = databaseAt(path)
    db.exec('pragma journal_mode = wal; pragma busy_timeout = 4321')
    const store = await openStoreAt(db)
    const [other] = await processes(1)
    await other?.call('block', path, 1200)
    expect(await turnsDuring(() => grantOf(store, askFor('key')))).toBeGreaterThan(50)
    expect(db.prepare('pragma busy_timeout').get()).toMatchObject({ timeout: 4321 })
  })

  it('sees what the transaction that it waited for has changed', async () => {
    const path = freshPath()
    const store = await openStoreAt(path)
    const taken = askFor('taken', { leaseMs: 60_000 })
    await grantOf(store, taken)
    for (let round = 0; round < 3; round += 1) {
      const beside = databaseAt(path)
      beside.exec(`begin immediate; update holdfast_locks set owner = 'another ${round}' where key = 'taken'`)
      const waiting = grantOf(store, askFor(`key-${round}`))
      await new Promise((resolve) => setTimeout(resolve, 20))
      beside.exec('commit')
      await waiting
      expect(await store.renew([taken])).toEqual([{ renewed: false }])
    }
  })

  it('opens a file that is busy, and one that must still be switched to a log', async () => {
    const path = freshPath()
    const beside = databaseAt(path)
    beside.exec('create table theirs (x); begin immediate')
    const stores = [storeAt(path), storeAt(path)]
    const opening = Promise.all(stores.map((store) => store.open()))
    await new Promise((resolve) => setTimeout(resolve, 50))
    beside.exec('commit')
    await opening
    expect(databaseAt(path).prepare('pragma journal_mode').get()).toMatchObject({ journal_mode: 'wal' })
  })

  it('says what is in the way, before core gives up at three seconds', { timeout: 20_000 }, async () => {
    const path = freshPath()
    const store = await openStoreAt(path)
    const beside = databaseAt(path)
    beside.exec('begin immediate')
    const start = performance.now()
    await expect(store.acquire([askFor('key')])).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/another connection keeps a transaction open; end it/),
    })
    expect(performance.now() - start).toBeGreaterThan(2000)
    beside.exec('commit')
    await grantOf(store, askFor('key'))
  })

  it('is CLOSED at once when the store is closed while it waits, and ever after', async () => {
    const path = freshPath()
    const store = await openStoreAt(path)
    const beside = databaseAt(path)
    beside.exec('begin immediate')
    const waiting = store.acquire([askFor('key')])
    await store.close()
    await expect(waiting).rejects.toMatchObject({ code: 'CLOSED' })
    const ask = askFor('key')
    for (const call of [
      () => store.open(),
      () => store.acquire([ask]),
      () => store.renew([ask]),
      () => store.release([ask]),
      () => store.list({ limit: 1 }),
      () => store.evict('key'),
    ]) {
      await expect(call()).rejects.toMatchObject({ name: 'LockError', code: 'CLOSED' })
    }
    expect(() => store.watch?.(() => undefined)).toThrow(expect.objectContaining({ code: 'CLOSED' }))
    await store.close()
  })

  it('lets others run while it decides 10,000 keys', { timeout: 20_000 }, async () => {
    const store = await openStoreAt(freshPath())
    const asks = Array.from({ length: 10_000 }, (_, n) => askFor(`key-${n}`))
    const turns = async (call: () => Promise<unknown>): Promise<number> => {
      let count = 0
      let turn = setImmediate(function next() {
        count += 1
        turn = setImmediate(next)
      })
      await call()
      clearImmediate(turn)
      return count
    }
    expect(await turns(() => store.acquire(asks))).toBeGreaterThanOrEqual(19)
    expect(await turns(() => store.renew(asks))).toBeGreaterThanOrEqual(19)
    expect(await turns(() => store.release(asks))).toBeGreaterThanOrEqual(19)
  })
})
