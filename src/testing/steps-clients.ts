import assert from 'node:assert/strict'
import { ask, assertRenewed, denialOf, grantTo, heldRecord, releaseOne, renewal, renewOne } from './claims.ts'
import type { Test } from './stage.ts'
import type { Store } from '../store.ts'

/** Processes come and go; none may notice the others doing so. */
export function clientSteps(test: Test): void {
  test('has a name', async (stage) => {
    const store = await stage.client()
    assert.equal(typeof store.name, 'string')
    assert.notEqual(store.name, '')
  })

  test('opens twice, and many clients at once', async (stage) => {
    const stores: Store[] = []
    for (let count = 0; count < 5; count += 1) stores.push(await stage.unopened())
    await Promise.all(stores.flatMap((store) => [store.open(), store.open()]))
    for (const store of stores) await store.open()
    for (const [index, store] of stores.entries()) await grantTo(store, ask(stage.key(`of-${index}`)))
  })

  test('keeps what is held when another client opens', async (stage) => {
    const a = await stage.client()
    const wish = ask(stage.key())
    const { grant } = await grantTo(a, wish)
    const b = await stage.client()
    await a.open()
    assert.equal((await heldRecord(b, stage.key())).grant, grant)
    await denialOf(b, ask(stage.key()))
    assert.equal((await renewOne(a, renewal(wish))).renewed, true)
  })

  test('leaves other clients alone when one closes', async (stage) => {
    const [a, b] = await stage.pair()
    const c = await stage.client()
    const wish = ask(stage.key())
    await grantTo(b, wish)
    await a.close()
    assert.equal((await renewOne(b, renewal(wish))).renewed, true)
    await denialOf(c, ask(stage.key()))
    assert.equal((await releaseOne(b, wish)).released, true)
    await grantTo(c, ask(stage.key()))
  })

  test('lets the owner go on through a new client after a close', async (stage) => {
    const a = await stage.client()
    const wish = ask(stage.key())
    const { grant } = await grantTo(a, wish)
    await a.close()
    const b = await stage.client()
    assertRenewed(await renewOne(b, renewal(wish)), grant)
    assert.equal((await releaseOne(b, wish)).released, true)
  })

  test('closes twice, also at once, and without ever having opened', async (stage) => {
    const store = await stage.client()
    await Promise.all([store.close(), store.close()])
    await store.close()
    await (await stage.unopened()).close()
  })
}
