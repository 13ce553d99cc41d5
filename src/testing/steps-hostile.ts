import assert from 'node:assert/strict'
import { HOSTILE_NAMES, HOSTILE_TEXTS, hostileKeys, RESERVED_NAMES } from './hostile-keys.ts'
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
  recordOf,
  releaseAll,
  renewal,
  renewAll,
  shuffled,
} from './claims.ts'
import type { Test } from './stage.ts'
import { readAll } from './steps-list.ts'
import { now } from './timing.ts'
import type { Answer, Holder } from '../store.ts'

// Short, since these keys are shared; long enough for four calls on a busy machine.
const RESERVED_MS = 10_000

export function hostileSteps(test: Test): void {
  test('keeps keys apart byte by byte, whatever is in them', async (stage) => {
    const [a, b] = await stage.pair()
    const keys = shuffled(hostileKeys(stage.prefix))
    const asks = keys.map((key) => ask(key, { holder: holderNamed('a', key) }))
    for (const [index, answer] of (await acquireAll(a, asks)).entries())
      assertGrant(answer, keys[index] ?? '')

    const denials = await acquireAll(
      b,
      keys.map((key) => ask(key)),
    )
    for (const [index, key] of keys.entries()) {
      assert.equal(assertDenial(denials[index] as Answer, key).holder.context, key)
    }

    const listed = (await readAll(b, { prefix: stage.prefix }, 20)).map(({ key }) => key)
    assert.deepEqual(listed.toSorted(), keys.toSorted())
  })

  test('renews, releases, evicts and finds each of them alone', async (stage) => {
    const [a, b] = await stage.pair()
    const keys = shuffled(hostileKeys(stage.prefix))
    const asks = keys.map((key) => ask(key, { holder: holderNamed('a', key) }))
    await acquireAll(a, asks)

    // Half of them go: a quarter by release, a quarter by eviction. Their look-alikes must stay.
    await releaseAll(
      a,
      asks.filter((_, index) => index % 4 === 0),
    )
    for (const [index, key] of keys.entries()) {
      if (index % 4 === 1) assert.equal((await b.evict(key))?.key, key)
    }
    for (const [index, answer] of (
      await renewAll(
        a,
        asks.map((wish) => renewal(wish)),
      )
    ).entries()) {
      assert.equal(answer.renewed, index % 4 > 1, `renewal of ${JSON.stringify(keys[index])}`)
    }
    for (const [index, key] of keys.entries()) {
      if (index % 4 > 1) assert.equal((await heldRecord(b, key)).holder.context, key)
    }
    for (const [index, answer] of (await releaseAll(b, asks)).entries()) {
      assert.equal(answer.released, index % 4 > 1, `release of ${JSON.stringify(keys[index])}`)
    }
  })

  test('takes names of the language as keys', async (stage) => {
    const store = await stage.client()
    for (const name of RESERVED_NAMES) {
      // These stand without a prefix, so another run on the same server may hold one for a moment.
      const wish = ask(name, { leaseMs: RESERVED_MS, holder: holderNamed('a', `mine ${stage.prefix}`) })
      const sent = now()
      await stage.until(`${name} to be free`, async () => isGranted(await acquireOne(store, wish)))
      const other = ask(name, { leaseMs: RESERVED_MS })
      const answer = await acquireOne(store, other)
      const record = await recordOf(store, name)
      await releaseAll(store, [wish])
      await releaseAll(store, [other])
      // After a long stall the key may be anyone's.
      if (now() - sent > RESERVED_MS / 2) continue
      assert.deepEqual({ ...assertDenial(answer, name).holder }, wish.holder)
      assert.deepEqual({ ...record?.holder }, wish.holder)
    }
  })

  test('brings back what a holder says of itself unchanged', async (stage) => {
    const [a, b] = await stage.pair()
    for (const [index, text] of HOSTILE_TEXTS.entries()) {
      const key = stage.key(`text-${index}`)
      const name = HOSTILE_NAMES[index % HOSTILE_NAMES.length] as string
      const holder: Holder = { service: name, instance: name, context: text }
      await grantTo(a, ask(key, { holder }))
      assert.deepEqual({ ...(await denialOf(b, ask(key))).holder }, holder)
      assert.deepEqual({ ...(await heldRecord(b, key)).holder }, holder)
      const removed = await b.evict(key)
      assert.deepEqual({ ...removed?.holder }, holder)
    }
  })

  test('tells no context from an empty one', async (stage) => {
    const store = await stage.client()
    for (const context of [null, '', 'null']) {
      const key = stage.key(`context-${JSON.stringify(context)}`)
      await grantTo(store, ask(key, { holder: holderNamed('a', context) }))
      assert.equal((await heldRecord(store, key)).holder.context, context)
    }
  })
}
