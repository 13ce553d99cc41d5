import assert from 'node:assert/strict'
import {
  acquireAll,
  AHEAD,
  ask,
  assertRenewed,
  denialOf,
  grantTo,
  heldRecord,
  LONG_MS,
  recordOf,
  releaseAll,
  releaseOne,
  renewal,
  renewAll,
  renewOne,
  shuffled,
} from './claims.ts'
import type { Test } from './stage.ts'
import { now } from './timing.ts'
import type { Ask } from '../store.ts'

export function renewSteps(test: Test): void {
  test('prolongs the lease from the time of the renewal', async (stage) => {
    const [a, b] = await stage.pair()
    const wish = ask(stage.key(), { leaseMs: LONG_MS / 4 })
    await grantTo(a, wish)
    const sent = now()
    assert.equal((await renewOne(a, renewal(wish))).renewed, true)
    const { retryInMs } = await denialOf(b, ask(stage.key()))
    stage.assertLeft(retryInMs, LONG_MS, sent)
    stage.assertLeft((await heldRecord(b, stage.key())).remainingMs, LONG_MS, sent)
  })

  test('never brings the expiry closer', async (stage) => {
    const [a, b] = await stage.pair()
    const wish = ask(stage.key())
    const sent = now()
    await grantTo(a, wish)
    // More than one copy may be on its way.
    for (let copy = 0; copy < 3; copy += 1) {
      const answer = await renewOne(a, renewal(wish, { leaseMs: stage.settings.shortMs }))
      assert.equal(answer.renewed, true)
    }
    const { retryInMs } = await denialOf(b, ask(stage.key()))
    stage.assertLeft(retryInMs, LONG_MS, sent)
  })

  test('never brings the expiry closer than a repeated ask has set it', async (stage) => {
    const [a, b] = await stage.pair()
    const wish = ask(stage.key(), { leaseMs: LONG_MS / 4 })
    await grantTo(a, wish)
    const sent = now()
    await grantTo(a, { ...wish, leaseMs: LONG_MS })
    for (let copy = 0; copy < 2; copy += 1) await renewOne(a, renewal(wish, { leaseMs: LONG_MS / 2 }))
    const { retryInMs } = await denialOf(b, ask(stage.key()))
    stage.assertLeft(retryInMs, LONG_MS, sent)
  })

  test('keeps the grant, the time of the grant and the holder', async (stage) => {
    const store = await stage.client()
    const wish = ask(stage.key())
    const { grant } = await grantTo(store, wish)
    const before = await heldRecord(store, stage.key())
    assertRenewed(await renewOne(store, renewal(wish)), grant)
    assertRenewed(await renewOne(store, renewal(wish, { rotate: false })), grant)
    const after = await heldRecord(store, stage.key())
    assert.equal(after.grant, grant)
    assert.equal(after.since, before.since)
    assert.deepEqual({ ...after.holder }, { ...before.holder })
  })

  test('refuses everyone but the owner, and changes nothing', async (stage) => {
    const [a, b] = await stage.pair()
    const wish = ask(stage.key())
    const sent = now()
    const { grant } = await grantTo(a, wish)
    const stranger = ask(stage.key())
    const greedy = renewal(stranger, { leaseMs: LONG_MS * 4, rotate: true })
    assert.equal((await renewOne(b, greedy)).renewed, false)
    const record = await heldRecord(b, stage.key())
    assert.equal(record.grant, grant)
    stage.assertLeft(record.remainingMs, LONG_MS, sent)
    assert.equal((await renewOne(a, renewal(wish))).renewed, true)
  })

  test('refuses a free key, and does not create it', async (stage) => {
    const store = await stage.client()
    assert.equal((await renewOne(store, renewal(ask(stage.key())))).renewed, false)
    assert.equal(await recordOf(store, stage.key()), undefined)
    assert.equal((await grantTo(store, ask(stage.key()))).previous, null)
  })

  test('refuses a lease that was released', async (stage) => {
    const store = await stage.client()
    const wish = ask(stage.key())
    await grantTo(store, wish)
    await releaseOne(store, wish)
    assert.equal((await renewOne(store, renewal(wish))).renewed, false)
    assert.equal(await recordOf(store, stage.key()), undefined)
  })

  test('answers in the order of the renewals', async (stage) => {
    const [a, b] = await stage.pair()
    const asks = shuffled(stage.keys(60)).map((key) => ask(key))
    const grants = (await acquireAll(a, asks)).map((answer) => (answer.granted ? answer.grant : 0))
    await releaseAll(
      a,
      asks.filter((_, index) => index % 3 === 0),
    )
    const renewals = asks.map((wish, index) => renewal(wish, { rotate: index % 3 === 1 }))
    for (const [index, answer] of (await renewAll(b, renewals)).entries()) {
      if (index % 3 === 0) {
        assert.equal(answer.renewed, false)
        continue
      }
      assert.ok(answer.renewed, 'a lease in force must be renewed')
      const record = await heldRecord(a, asks[index]?.key ?? '')
      assert.equal(answer.grant, record.grant, 'an answer carries the grant of another key')
      if (index % 3 === 2) assert.equal(answer.grant, grants[index])
    }
  })

  test('raises the grant when told to rotate', async (stage) => {
    const [a, b] = await stage.pair()
    const wish = ask(stage.key())
    let last = (await grantTo(a, wish)).grant
    for (let round = 0; round < 3; round += 1) {
      const answer = await renewOne(a, renewal(wish, { rotate: true }))
      assert.ok(answer.renewed, 'a lease in force must be renewed')
      assert.ok(answer.grant > last, `rotated from ${last} to ${answer.grant}`)
      assert.ok(Number.isSafeInteger(answer.grant), `${answer.grant} is not a safe integer`)
      last = answer.grant
      assert.equal((await heldRecord(b, stage.key())).grant, last)
    }
    assertRenewed(await renewOne(a, renewal(wish)), last)
    assert.equal((await grantTo(a, wish)).grant, last, 'the same owner asking again gets the grant in force')
  })

  test('raises the grant to exactly the number it is given, and never lowers it', async (stage) => {
    const [a, b] = await stage.pair()
    const asks = stage.keys(4).map((key) => ask(key))
    const [one, two, three] = asks as [Ask, Ask, Ask]
    const grants = await Promise.all(asks.map(async (wish) => (await grantTo(a, wish)).grant))
    const far = Math.max(...grants) + AHEAD
    // Twice: a renewal may arrive again.
    for (let copy = 0; copy < 2; copy += 1) {
      const answers = await renewAll(a, [
        renewal(one, { raiseTo: far }),
        renewal(two, { raiseTo: 1 }),
        renewal(three),
        renewal(ask(asks[3]?.key ?? ''), { raiseTo: far }),
      ])
      const expected = [far, grants[1], grants[2], undefined]
      assert.deepEqual(
        answers.map((answer) => (answer.renewed ? answer.grant : undefined)),
        expected,
      )
    }
    assert.equal((await heldRecord(b, one.key)).grant, far)
    assert.equal((await heldRecord(b, asks[3]?.key ?? '')).grant, grants[3], 'only the owner may raise it')
    assertRenewed(await renewOne(a, renewal(one)), far)
    assert.equal((await grantTo(b, one)).grant, far, 'the same owner asking again gets the grant in force')
  })

  test('does not raise the grant of a key that is free', async (stage) => {
    const store = await stage.client()
    const wish = ask(stage.key())
    assert.equal((await renewOne(store, renewal(wish, { raiseTo: AHEAD }))).renewed, false)
    assert.equal(await recordOf(store, stage.key()), undefined)
  })

  test('renews batches that overlap in opposite orders, without a deadlock', async (stage) => {
    const [a, b] = await stage.pair()
    const asks = stage.keys(40).map((key) => ask(key))
    await acquireAll(a, asks)
    for (let round = 0; round < 5; round += 1) {
      const renewals = asks.map((wish) => renewal(wish, { rotate: true }))
      const [one, two] = await Promise.all([renewAll(a, renewals), renewAll(b, renewals.toReversed())])
      for (const answer of [...one, ...two]) assert.equal(answer.renewed, true)
    }
  })
}
