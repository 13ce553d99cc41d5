import assert from 'node:assert/strict'
import {
  acquireAll,
  ask,
  assertGrant,
  assertReleased,
  assertRising,
  denialOf,
  grantTo,
  heldRecord,
  holderNamed,
  recordOf,
  releaseAll,
  releaseOne,
  renewal,
  renewAll,
  renewOne,
} from './claims.ts'
import type { Test } from './stage.ts'
import type { Answer } from '../store.ts'

/** G5: any message may arrive twice, late or in another order than it was sent. */
export function repeatSteps(test: Test): void {
  test('G5 a batch sent twice gives the same grants', async (stage) => {
    const [a, b] = await stage.pair()
    const asks = stage.keys(10).map((key) => ask(key))
    const first = await acquireAll(a, asks)
    const again = await acquireAll(b, asks)
    const grants = (answers: Answer[]): number[] => {
      return answers.map((answer, index) => assertGrant(answer, asks[index]?.key ?? '').grant)
    }
    assert.deepEqual(grants(again), grants(first))
  })

  test('G5 a denied ask sent twice is denied twice', async (stage) => {
    const store = await stage.client()
    const holding = ask(stage.key())
    await grantTo(store, holding)
    const wish = ask(stage.key())
    await denialOf(store, wish)
    await denialOf(store, wish)
    assertReleased(await releaseOne(store, holding), { wanted: true })
  })

  test('G5 renewals and rotations sent twice are both good', async (stage) => {
    const store = await stage.client()
    const wish = ask(stage.key())
    const { grant } = await grantTo(store, wish)
    const answers = [
      ...(await renewAll(store, [renewal(wish)])),
      ...(await renewAll(store, [renewal(wish)])),
      ...(await renewAll(store, [renewal(wish, { rotate: true })])),
      ...(await renewAll(store, [renewal(wish, { rotate: true })])),
    ]
    const grants = answers.map((answer) => (answer.renewed ? answer.grant : 0))
    assert.deepEqual(grants.slice(0, 2), [grant, grant])
    assertRising(grants.slice(1), 'grants of a rotation sent twice')
  })

  test('G5 a release before its acquire does nothing', async (stage) => {
    const store = await stage.client()
    const wish = ask(stage.key())
    assert.equal((await releaseOne(store, wish)).released, false)
    await grantTo(store, wish)
    await heldRecord(store, stage.key())
  })

  test('G5 a late acquire of a released lease can be released again', async (stage) => {
    const store = await stage.client()
    const wish = ask(stage.key())
    const { grant } = await grantTo(store, wish)
    await releaseOne(store, wish)
    const late = await grantTo(store, wish)
    assert.ok(late.grant > grant, 'a key that becomes held again has a higher grant')
    assert.equal((await releaseOne(store, wish)).released, true)
    assert.equal(await recordOf(store, stage.key()), undefined)
  })

  test('G5 a late acquire does not hurt the next holder', async (stage) => {
    const [a, b] = await stage.pair()
    const wish = ask(stage.key())
    await grantTo(a, wish)
    await releaseOne(a, wish)
    const next = ask(stage.key(), { holder: holderNamed('next') })
    const { grant } = await grantTo(b, next)
    assert.equal((await denialOf(a, wish)).holder.instance, 'next')
    assert.equal((await releaseOne(a, wish)).released, false)
    assert.equal((await renewOne(a, renewal(wish))).renewed, false)
    assert.equal((await heldRecord(b, stage.key())).grant, grant)
  })

  test('G5 a late renewal brings nothing back', async (stage) => {
    const store = await stage.client()
    const wish = ask(stage.key())
    await grantTo(store, wish)
    await releaseOne(store, wish)
    assert.equal((await renewOne(store, renewal(wish, { rotate: true }))).renewed, false)
    assert.equal(await recordOf(store, stage.key()), undefined)
  })

  test('G5 releases sent twice, backwards, free each key once', async (stage) => {
    const [a, b] = await stage.pair()
    const asks = stage.keys(10).map((key) => ask(key))
    await acquireAll(a, asks)
    const first = await releaseAll(a, asks)
    const again = await releaseAll(b, asks.toReversed())
    for (const { released } of first) assert.equal(released, true)
    for (const { released } of again) assert.equal(released, false)
  })

  test('G5 an eviction sent twice with its grant spares the next holder', async (stage) => {
    const [a, b] = await stage.pair()
    const { grant } = await grantTo(a, ask(stage.key()))
    assert.ok(await b.evict(stage.key(), grant))
    assert.equal(await b.evict(stage.key(), grant), null)
    const next = ask(stage.key())
    await grantTo(a, next)
    assert.equal(await b.evict(stage.key(), grant), null)
    assert.equal((await renewOne(a, renewal(next))).renewed, true)
  })
}
