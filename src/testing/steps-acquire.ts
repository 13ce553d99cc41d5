import assert from 'node:assert/strict'
import {
  acquireAll,
  acquireOne,
  ask,
  assertDenial,
  assertGrant,
  denialOf,
  grantTo,
  heldRecord,
  holderNamed,
  isGranted,
  LONG_MS,
  releaseAll,
  releaseOne,
  renewal,
  renewOne,
  shuffled,
} from './claims.ts'
import type { Test } from './stage.ts'
import { now } from './timing.ts'
import type { Answer, Ask, Store } from '../store.ts'

export function acquireSteps(test: Test): void {
  test('grants a free key, with no holder before it', async (stage) => {
    const store = await stage.client()
    const { previous } = await grantTo(store, ask(stage.key()))
    assert.equal(previous, null)
  })

  test('denies a held key, and tells its holder and the time left', async (stage) => {
    const [a, b] = await stage.pair()
    const holder = holderNamed('first', 'because')
    const sent = now()
    await grantTo(a, ask(stage.key(), { holder }))
    const denial = await denialOf(b, ask(stage.key(), { holder: holderNamed('second') }))
    assert.deepEqual({ ...denial.holder }, holder)
    stage.assertLeft(denial.retryInMs, LONG_MS, sent)
  })

  test('lists what was asked for', async (stage) => {
    const store = await stage.client()
    const holder = holderNamed('first', 'because')
    const sent = now()
    const { grant } = await grantTo(store, ask(stage.key(), { holder }))
    const record = await heldRecord(store, stage.key())
    assert.equal(record.key, stage.key())
    assert.equal(record.grant, grant)
    assert.deepEqual({ ...record.holder }, holder)
    assert.equal(record.leaseMs, LONG_MS)
    assert.equal(record.wanted, false)
    stage.assertLeft(record.remainingMs, LONG_MS, sent)
    assert.ok(record.since > Date.UTC(2020, 0), `since must be milliseconds since 1970, not ${record.since}`)
    assert.ok(record.since < Date.UTC(2100, 0), `since must be milliseconds since 1970, not ${record.since}`)
  })

  test('gives the same owner the same grant again, with a fresh lease', async (stage) => {
    const [a, b] = await stage.pair()
    const first = ask(stage.key(), { leaseMs: LONG_MS / 4 })
    const { grant } = await grantTo(a, first)
    const { since } = await heldRecord(a, stage.key())
    const sent = now()
    const again = await grantTo(a, { ...first, leaseMs: LONG_MS })
    assert.equal(again.grant, grant)
    // A reply may be lost and the next call go through another connection.
    assert.equal((await grantTo(b, { ...first, leaseMs: LONG_MS })).grant, grant)
    const denial = await denialOf(b, ask(stage.key()))
    stage.assertLeft(denial.retryInMs, LONG_MS, sent)
    const record = await heldRecord(b, stage.key())
    assert.equal(record.since, since, 'asking again must not move the time of the grant')
  })

  test('does not shorten the lease when the same owner asks again', async (stage) => {
    // The second ask may be an old one that arrives late, after the lease was prolonged.
    const store = await stage.client()
    const first = ask(stage.key())
    const sent = now()
    await grantTo(store, first)
    await grantTo(store, { ...first, leaseMs: stage.settings.shortMs })
    const { retryInMs } = await denialOf(store, ask(stage.key()))
    stage.assertLeft(retryInMs, LONG_MS, sent)
  })

  for (const leaseMs of [LONG_MS + 0.5, 2 ** 31 - 1]) {
    test(`keeps a lease of ${leaseMs} ms`, async (stage) => {
      // The longest is 24 days; in microseconds that is far beyond 32 bits.
      const store = await stage.client()
      const wish = ask(stage.key(), { leaseMs })
      const sent = now()
      await grantTo(store, wish)
      stage.assertLeft((await denialOf(store, ask(stage.key()))).retryInMs, leaseMs, sent)
      assert.equal((await renewOne(store, renewal(wish, { leaseMs }))).renewed, true)
      const record = await heldRecord(store, stage.key())
      stage.assertLeft(record.remainingMs, leaseMs, sent)
      assert.ok(Math.abs(record.leaseMs - leaseMs) < 1, `listed as a lease of ${record.leaseMs} ms`)
      assert.equal((await releaseOne(store, wish)).released, true)
    })
  }

  test('answers in the order of the asks, granted and denied mixed', async (stage) => {
    const [a, b] = await stage.pair()
    const keys = shuffled(stage.keys(60))
    const taken = keys.filter((_, index) => index % 3 === 0)
    const byA = (key: string): Ask => ask(key, { holder: holderNamed('a', `a ${key}`) })
    const byB = (key: string): Ask => ask(key, { holder: holderNamed('b', `b ${key}`) })
    await acquireAll(a, taken.map(byA))
    const answers = await acquireAll(b, keys.map(byB))
    for (const [index, key] of keys.entries()) {
      const answer = answers[index] as Answer
      if (taken.includes(key)) {
        assert.equal(assertDenial(answer, key).holder.context, `a ${key}`)
      } else {
        const { grant } = assertGrant(answer, key)
        const record = await heldRecord(a, key)
        assert.equal(record.grant, grant, 'an answer carries the grant of another key')
        assert.equal(record.holder.context, `b ${key}`)
      }
    }
  })

  test('takes an empty batch', async (stage) => {
    const store = await stage.client()
    assert.deepEqual([...(await store.acquire([]))], [])
    assert.deepEqual([...(await store.renew([]))], [])
    assert.deepEqual([...(await store.release([]))], [])
  })

  test('grants a key to one of many that ask at once', async (stage) => {
    const clients = await stage.clients(3)
    for (let round = 0; round < 10; round += 1) {
      const key = stage.key(`round-${round}`)
      const asks = Array.from({ length: 12 }, (_, index) => ask(key, { holder: holderNamed(`h${index}`) }))
      const answers = await Promise.all(
        asks.map((wish, index) => acquireOne(clients[index % 3] as Store, wish)),
      )
      const winners = answers.flatMap((answer, index) => (isGranted(answer) ? [`h${index}`] : []))
      assert.equal(winners.length, 1, `${winners.length} of 12 owners got the key`)
      for (const answer of answers) {
        if (!isGranted(answer)) assert.equal(answer.holder.instance, winners[0])
      }
    }
  })

  test('gives an owner that asks twice at once one grant', async (stage) => {
    const [a, b] = await stage.pair()
    for (let round = 0; round < 10; round += 1) {
      const wish = ask(stage.key(`round-${round}`))
      const [one, two] = await Promise.all([grantTo(a, wish), grantTo(b, wish)])
      assert.equal(one.grant, two.grant)
    }
  })

  test('decides batches that overlap in opposite orders, without a deadlock', async (stage) => {
    const [a, b] = await stage.pair()
    const keys = stage.keys(40)
    const backwards = keys.toReversed()
    for (let round = 0; round < 5; round += 1) {
      const asksA = keys.map((key) => ask(key))
      const asksB = backwards.map((key) => ask(key))
      const [fromA, fromB] = await Promise.all([acquireAll(a, asksA), acquireAll(b, asksB)])
      const both = [...fromA, ...fromB.toReversed()].map(isGranted)
      for (const [index, key] of keys.entries()) {
        assert.notEqual(both[index], both[index + keys.length], `${key} must go to exactly one of two`)
      }
      await Promise.all([releaseAll(a, asksA), releaseAll(b, asksB)])
    }
  })

  test('takes a claim from any client: the owner proves it, not the connection', async (stage) => {
    const [a, b] = await stage.pair()
    const wish = ask(stage.key())
    await grantTo(a, wish)
    assert.equal((await releaseOne(b, wish)).released, true)
    await grantTo(a, ask(stage.key()))
  })
}
