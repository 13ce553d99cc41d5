import assert from 'node:assert/strict'
import {
  acquireAll,
  acquireOne,
  ask,
  assertDenial,
  assertGrant,
  assertRenewed,
  denialOf,
  grantTo,
  holderNamed,
  isGranted,
  recordOf,
  releaseOne,
  renewal,
  renewAll,
  renewOne,
  shuffled,
} from './claims.ts'
import type { Stage, Test } from './stage.ts'
import { now } from './timing.ts'
import type { Answer, Ask, Store } from '../store.ts'

export function expirySteps(test: Test): void {
  test('passes a key on once its lease has run out, and not before', async (stage) => {
    const [a, b] = await stage.pair()
    const { shortMs, toleranceMs } = stage.settings
    const sent = now()
    await grantTo(a, ask(stage.key(), { leaseMs: shortMs }))
    await stage.until('the lease to run out', async () => isGranted(await acquireOne(b, ask(stage.key()))))
    const tookMs = now() - sent
    assert.ok(tookMs >= shortMs - toleranceMs, `a lease of ${shortMs} ms was taken over after ${tookMs} ms`)
  })

  test('tells whom a key was taken over from', async (stage) => {
    const [a, b] = await stage.pair()
    const holder = holderNamed('crashed', 'nightly job')
    await expired(stage, a, { holder })
    const { previous } = await grantTo(b, ask(stage.key()))
    if (!stage.settings.namesExpired) return assert.equal(previous, null)
    assert.ok(previous, 'a take-over must name the holder before')
    assert.deepEqual({ ...previous }, holder)
  })

  test('tells of no holder before once the key was released after a take-over', async (stage) => {
    const [a, b] = await stage.pair()
    await expired(stage, a)
    const successor = ask(stage.key())
    await grantTo(b, successor)
    await releaseOne(b, successor)
    assert.equal((await grantTo(a, ask(stage.key()))).previous, null)
  })

  test('does not renew an expired lease, even if nobody took the key', async (stage) => {
    const store = await stage.client()
    const wish = await expired(stage, store)
    assert.equal((await renewOne(store, renewal(wish))).renewed, false)
    assert.equal((await renewOne(store, renewal(wish, { rotate: true }))).renewed, false)
    // Lost is final: the refused renewals brought nothing back.
    await grantTo(store, ask(stage.key()))
    assert.equal((await renewOne(store, renewal(wish))).renewed, false)
  })

  test('does not count the release of an expired lease', async (stage) => {
    const store = await stage.client()
    assert.equal((await releaseOne(store, await expired(stage, store))).released, false)
  })

  test('lists no expired lock', async (stage) => {
    const store = await stage.client()
    await expired(stage, store)
    assert.equal(await recordOf(store, stage.key()), undefined)
    assert.deepEqual([...(await store.list({ prefix: stage.prefix, limit: 10 })).locks], [])
  })

  test('does not evict an expired lock', async (stage) => {
    const store = await stage.client()
    const { grant } = await grantTo(store, ask(stage.key(), { leaseMs: stage.settings.shortMs }))
    await stage.outlive(now())
    assert.equal(await store.evict(stage.key(), grant), null)
    assert.equal(await store.evict(stage.key()), null)
  })

  test('gives an owner that asks again after its expiry a higher grant', async (stage) => {
    const store = await stage.client()
    const wish = ask(stage.key(), { leaseMs: stage.settings.shortMs })
    const { grant } = await grantTo(store, wish)
    await stage.outlive(now())
    const again = await grantTo(store, wish)
    assert.ok(again.grant > grant, `grant ${again.grant} after ${grant}`)
  })

  test('keeps a renewed lease past its first expiry', async (stage) => {
    const [a, b] = await stage.pair()
    const { shortMs, toleranceMs } = stage.settings
    const wish = await stage.until('a renewal that arrives in time', async () => {
      const attempt = ask(stage.key(), { leaseMs: shortMs })
      const sent = now()
      await grantTo(a, attempt)
      if ((await renewOne(a, renewal(attempt))).renewed) return attempt
      // Only a stall of the machine may be the reason.
      const tookMs = now() - sent
      assert.ok(tookMs >= shortMs - toleranceMs, `a renewal after ${tookMs} ms of ${shortMs} ms was refused`)
      return undefined
    })
    await stage.outlive(now())
    await denialOf(b, ask(stage.key()))
    assert.equal((await renewOne(a, renewal(wish))).renewed, true)
  })

  test('decides expired and held keys of one batch each on its own', async (stage) => {
    const [a, b] = await stage.pair()
    const asks = shuffled(stage.keys(20)).map((key, index) => {
      return ask(key, index % 2 === 0 ? { leaseMs: stage.settings.shortMs } : {})
    })
    await acquireAll(a, asks)
    await stage.outlive(now())
    const renewals = await renewAll(
      a,
      asks.map((wish) => renewal(wish)),
    )
    const answers = await acquireAll(
      b,
      asks.map(({ key }) => ask(key)),
    )
    for (const [index, { key }] of asks.entries()) {
      const expectLost = index % 2 === 0
      assert.equal(renewals[index]?.renewed, !expectLost)
      if (expectLost) assertGrant(answers[index] as Answer, key)
      else assertDenial(answers[index] as Answer, key)
    }
  })

  test('leaves the successor alone when the late holder comes back', async (stage) => {
    const [a, b] = await stage.pair()
    const late = await expired(stage, a)
    const successor = ask(stage.key(), { holder: holderNamed('successor') })
    const { grant } = await grantTo(b, successor)
    assert.equal((await releaseOne(a, late)).released, false)
    assert.equal((await renewOne(a, renewal(late))).renewed, false)
    const denial = await denialOf(a, late)
    assert.equal(denial.holder.instance, 'successor')
    assertRenewed(await renewOne(b, renewal(successor)), grant)
  })
}

/** A lock that was granted and whose lease has run out since. */
async function expired(stage: Stage, store: Store, change: Partial<Ask> = {}): Promise<Ask> {
  const wish = ask(stage.key(), { leaseMs: stage.settings.shortMs, ...change })
  await grantTo(store, wish)
  await stage.outlive(now())
  return wish
}
