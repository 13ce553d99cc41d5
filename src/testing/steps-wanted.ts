import assert from 'node:assert/strict'
import {
  ask,
  assertReleased,
  denialOf,
  grantTo,
  heldRecord,
  releaseAll,
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
    await wantedUntilExpired(stage, a, b)
    await assertUnwanted(stage, b)
  })

  test('is told by the release of an expired lease, as long as there is a record of it', async (stage) => {
    const [a, b] = await stage.pair()
    const wish = await wantedUntilExpired(stage, a, b)
    const { released, wanted } = await releaseOne(a, wish)
    assert.equal(released, false)
    assert.equal(wanted, stage.settings.tellsExpired, 'wanted')
  })

  test('is told of each lease of one batch, expired or not', async (stage) => {
    const [a, b] = await stage.pair()
    const late = await wantedUntilExpired(stage, a, b)
    const unwanted = ask(stage.key('unwanted'), { leaseMs: stage.settings.shortMs })
    await grantTo(a, unwanted)
    await stage.outlive(now())
    const held = ask(stage.key('held'))
    await grantTo(a, held)
    await denialOf(b, ask(held.key))
    const answers = await releaseAll(a, [late, unwanted, held])
    assert.deepEqual(
      answers.map(({ released, wanted }) => [released, wanted]),
      [
        [false, stage.settings.tellsExpired],
        [false, false],
        [true, true],
      ],
    )
  })

  test('tells a late holder nothing of its successor', async (stage) => {
    const [a, b] = await stage.pair()
    const late = ask(stage.key(), { leaseMs: stage.settings.shortMs })
    await grantTo(a, late)
    await stage.outlive(now())
    await wantedLock(stage, b, a)
    assert.deepEqual({ ...(await releaseOne(a, late)) }, { released: false, wanted: false })
  })
}

/** A lease of `a` that was denied to `b` while it was in force, and has run out since. */
async function wantedUntilExpired(stage: Stage, a: Store, b: Store): Promise<Ask> {
  // On a stalled machine the lease may have run out before b asks; then it was not denied: again.
  const wish = await stage.until('a denial while the lease is in force', async () => {
    await a.evict(stage.key())
    const attempt = ask(stage.key(), { leaseMs: stage.settings.shortMs })
    await grantTo(a, attempt)
    const [answer] = await b.acquire([ask(stage.key(), { leaseMs: stage.settings.shortMs })])
    return answer && 'granted' in answer && !answer.granted ? attempt : false
  })
  await stage.outlive(now())
  return wish
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
