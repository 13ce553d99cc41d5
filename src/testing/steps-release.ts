import assert from 'node:assert/strict'
import {
  acquireAll,
  ask,
  assertRenewed,
  denialOf,
  grantTo,
  heldRecord,
  holderNamed,
  recordOf,
  releaseAll,
  releaseOne,
  renewal,
  renewOne,
  shuffled,
} from './claims.ts'
import type { Test } from './stage.ts'
import type { Ask } from '../store.ts'

export function releaseSteps(test: Test): void {
  test('frees the key at once, for everyone', async (stage) => {
    const [a, b] = await stage.pair()
    const wish = ask(stage.key())
    await grantTo(a, wish)
    assert.equal((await releaseOne(a, wish)).released, true)
    assert.equal(await recordOf(b, stage.key()), undefined)
    assert.equal((await grantTo(b, ask(stage.key()))).previous, null)
  })

  test('says false the second time', async (stage) => {
    const store = await stage.client()
    const wish = ask(stage.key())
    await grantTo(store, wish)
    assert.equal((await releaseOne(store, wish)).released, true)
    assert.equal((await releaseOne(store, wish)).released, false)
  })

  test('says true to exactly one of two at once', async (stage) => {
    const [a, b] = await stage.pair()
    for (let round = 0; round < 10; round += 1) {
      const wish = ask(stage.key())
      await grantTo(a, wish)
      const [one, two] = await Promise.all([releaseOne(a, wish), releaseOne(b, wish)])
      assert.notEqual(one.released, two.released)
    }
  })

  test('refuses everyone but the owner, and the holder keeps the key', async (stage) => {
    const [a, b] = await stage.pair()
    const wish = ask(stage.key(), { holder: holderNamed('holder') })
    const { grant } = await grantTo(a, wish)
    assert.equal((await releaseOne(b, ask(stage.key()))).released, false)
    assert.equal((await denialOf(b, ask(stage.key()))).holder.instance, 'holder')
    assertRenewed(await renewOne(a, renewal(wish)), grant)
    assert.equal((await releaseOne(a, wish)).released, true)
  })

  test('says false for a key that was never held', async (stage) => {
    const store = await stage.client()
    assert.equal((await releaseOne(store, ask(stage.key()))).released, false)
  })

  test('frees only the key named, not its neighbours', async (stage) => {
    const store = await stage.client()
    const asks = ['a', 'ab', 'abc'].map((name) => ask(stage.key(name), { owner: 'one-owner-for-all' }))
    await acquireAll(store, asks)
    assert.equal((await releaseOne(store, asks[1] as Ask)).released, true)
    await heldRecord(store, stage.key('a'))
    await heldRecord(store, stage.key('abc'))
    assert.equal(await recordOf(store, stage.key('ab')), undefined)
  })

  test('answers in the order of the claims', async (stage) => {
    const [a, b] = await stage.pair()
    const asks = shuffled(stage.keys(60)).map((key) => ask(key))
    await acquireAll(a, asks)
    // One third is released already, one third is wanted.
    await releaseAll(
      a,
      asks.filter((_, index) => index % 3 === 0),
    )
    await acquireAll(
      b,
      asks.filter((_, index) => index % 3 === 1).map(({ key }) => ask(key)),
    )
    for (const [index, answer] of (await releaseAll(a, asks)).entries()) {
      assert.equal(answer.released, index % 3 !== 0)
      if (answer.released) assert.equal(answer.wanted, index % 3 === 1)
    }
  })

  test('releases batches that overlap in opposite orders, without a deadlock', async (stage) => {
    const [a, b] = await stage.pair()
    for (let round = 0; round < 5; round += 1) {
      const asks = stage.keys(40).map((key) => ask(key))
      await acquireAll(a, asks)
      const [one, two] = await Promise.all([releaseAll(a, asks), releaseAll(b, asks.toReversed())])
      for (const [index, answer] of two.toReversed().entries()) {
        assert.notEqual(answer.released, one[index]?.released, 'a lease must be released exactly once')
      }
    }
  })
}
