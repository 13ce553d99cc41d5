import assert from 'node:assert/strict'
import {
  ask,
  assertRenewed,
  assertRising,
  grantTo,
  heldRecord,
  holderNamed,
  LONG_MS,
  recordOf,
  releaseOne,
  renewal,
  renewOne,
} from './claims.ts'
import type { Test } from './stage.ts'
import { now } from './timing.ts'

export function evictSteps(test: Test): void {
  test('frees a key whoever holds it, and tells what it removed', async (stage) => {
    const [a, b] = await stage.pair()
    const holder = holderNamed('victim', 'stuck')
    const sent = now()
    const { grant } = await grantTo(a, ask(stage.key(), { holder }))
    const removed = await b.evict(stage.key())
    assert.ok(removed, 'evict must tell what it removed')
    assert.equal(removed.key, stage.key())
    assert.equal(removed.grant, grant)
    assert.deepEqual({ ...removed.holder }, holder)
    assert.equal(removed.leaseMs, LONG_MS)
    assert.equal(removed.wanted, false)
    stage.assertLeft(removed.remainingMs, LONG_MS, sent)
    assert.equal(await recordOf(a, stage.key()), undefined)
  })

  test('with the grant in force frees the key', async (stage) => {
    const [a, b] = await stage.pair()
    const { grant } = await grantTo(a, ask(stage.key()))
    assert.equal((await b.evict(stage.key(), grant))?.grant, grant)
    await grantTo(b, ask(stage.key()))
  })

  test('with another grant does nothing', async (stage) => {
    const [a, b] = await stage.pair()
    const wish = ask(stage.key())
    const { grant } = await grantTo(a, wish)
    for (const other of [grant - 1, grant + 1, 0]) assert.equal(await b.evict(stage.key(), other), null)
    assertRenewed(await renewOne(a, renewal(wish)), grant)
  })

  test('with the grant from before a rotation does nothing', async (stage) => {
    const store = await stage.client()
    const wish = ask(stage.key())
    const { grant } = await grantTo(store, wish)
    const rotated = await renewOne(store, renewal(wish, { rotate: true }))
    assert.ok(rotated.renewed, 'a lease in force must be renewed')
    assert.equal(await store.evict(stage.key(), grant), null)
    assert.equal((await store.evict(stage.key(), rotated.grant))?.grant, rotated.grant)
  })

  test('takes the key from its holder for good', async (stage) => {
    const [a, b] = await stage.pair()
    const victim = ask(stage.key())
    const { grant } = await grantTo(a, victim)
    await b.evict(stage.key())
    assert.equal((await renewOne(a, renewal(victim))).renewed, false)
    assert.equal((await releaseOne(a, victim)).released, false)
    const next = await grantTo(b, ask(stage.key()))
    assert.equal(next.previous, null, 'an evicted key is free; nobody ran out')
    assertRising([grant, next.grant], 'grants over an eviction')
    assert.equal((await renewOne(a, renewal(victim))).renewed, false)
  })

  test('resolves to null for a free key', async (stage) => {
    const store = await stage.client()
    assert.equal(await store.evict(stage.key()), null)
    assert.equal(await store.evict(stage.key(), 1), null)
    const wish = ask(stage.key())
    const { grant } = await grantTo(store, wish)
    await releaseOne(store, wish)
    assert.equal(await store.evict(stage.key(), grant), null)
    assert.equal(await store.evict(stage.key()), null)
  })

  test('frees exactly the key named', async (stage) => {
    const store = await stage.client()
    const names = ['a%', 'ab', 'a_', 'A%', 'a']
    for (const name of names) await grantTo(store, ask(stage.key(name)))
    assert.equal((await store.evict(stage.key('a%')))?.key, stage.key('a%'))
    for (const name of names.slice(1)) await heldRecord(store, stage.key(name))
  })

  test('removes one lock once, also when two evict at once', async (stage) => {
    const [a, b] = await stage.pair()
    for (let round = 0; round < 10; round += 1) {
      const { grant } = await grantTo(a, ask(stage.key()))
      const removed = await Promise.all([a.evict(stage.key(), grant), b.evict(stage.key(), grant)])
      assert.equal(removed.filter((record) => record !== null).length, 1)
    }
  })
}
