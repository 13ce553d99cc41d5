import assert from 'node:assert/strict'
import {
  ask,
  assertReleased,
  denialOf,
  grantTo,
  heldRecord,
  releaseOne,
  renewal,
  renewOne,
} from './claims.ts'
import type { Stage, Test } from './stage.ts'
import { now } from './timing.ts'
import type { Ask, Store } from '../store.ts'

/** `wanted` decides whether a release is announced and whether a process gives others their turn. */
export function wantedSteps(test: Test): void {
  test('is false if nobody was denied', async (stage) => {
    const store = await stage.client()
    const wish = ask(stage.key())
    await grantTo(store, wish)
    assert.equal((await heldRecord(store, stage.key())).wanted, false)
    assertReleased(await releaseOne(store, wish), { wanted: false })
  })

  test('is set by a denial, and told by list and release', async (stage) => {
    const [a, b] = await stage.pair()
    const wish = await wantedLock(stage, a, b)
    assert.equal((await heldRecord(a, stage.key())).wanted, true)
    assertReleased(await releaseOne(a, wish), { wanted: true })
  })

  test('stays through renewals and through the same owner asking again', async (stage) => {
    const [a, b] = await stage.pair()
    const wish = await wantedLock(stage, a, b)
    await renewOne(a, renewal(wish))
    await renewOne(a, renewal(wish, { rotate: true }))
    await grantTo(a, wish)
    assert.equal((await heldRecord(b, stage.key())).wanted, true)
    assert.equal((await releaseOne(a, wish)).wanted, true)
  })

  test('belongs to one key, not to its neighbours', async (stage) => {
    const [a, b] = await stage.pair()
    const neighbour = ask(stage.key('neighbour'))
    await grantTo(a, neighbour)
    await wantedLock(stage, a, b)
    assert.equal((await heldRecord(a, neighbour.key)).wanted, false)
    assert.equal((await releaseOne(a, neighbour)).wanted, false)
  })

  test('is cleared by the grant after a release', async (stage) => {
    const [a, b] = await stage.pair()
    await releaseOne(a, await wantedLock(stage, a, b))
    await assertUnwanted(stage, b)
  })

  test('is cleared by the grant after an eviction', async (stage) => {
    const [a, b] = await stage.pair()
    await wantedLock(stage, a, b)
    assert.equal((await b.evict(stage.key()))?.wanted, true)
    await assertUnwanted(stage, b)
  })

  test('is cleared by the grant after an expiry', async (stage) => {
    const [a, b] = await stage.pair()
    // On a stalled machine the lease may have run out before b asks; then it was not denied: again.
    const received = await stage.until('a denial while the lease is in force', async () => {
      await a.evict(stage.key())
      await grantTo(a, ask(stage.key(), { leaseMs: stage.settings.shortMs }))
      const [answer] = await b.acquire([ask(stage.key(), { leaseMs: stage.settings.shortMs })])
      return answer && 'granted' in answer && !answer.granted ? now() : false
    })
    await stage.outlive(received)
    await assertUnwanted(stage, b)
  })
}

/** A lock held through `a` that was denied to `b`. */
async function wantedLock(stage: Stage, a: Store, b: Store): Promise<Ask> {
  const wish = ask(stage.key())
  await grantTo(a, wish)
  await denialOf(b, ask(stage.key()))
  return wish
}

async function assertUnwanted(stage: Stage, store: Store): Promise<void> {
  const next = ask(stage.key())
  await grantTo(store, next)
  assert.equal((await heldRecord(store, next.key)).wanted, false)
  assert.equal((await releaseOne(store, next)).wanted, false)
}
