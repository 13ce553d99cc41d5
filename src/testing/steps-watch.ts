import assert from 'node:assert/strict'
import { hostileKeys } from './hostile-keys.ts'
import { acquireAll, ask, assertDenial, denialOf, grantTo, releaseAll, releaseOne } from './claims.ts'
import type { Stage, Test } from './stage.ts'
import { sleep } from './timing.ts'
import type { Ask, Store, Watch } from '../store.ts'

/**
 * `onFreed` may come for no reason, above all just after a key was added. So one wake-up proves
 * nothing: these tests free a key several times and want a new wake-up each time. All leases are far
 * longer than the wait, so that an expiry cannot pass for a push.
 */
const ROUNDS = 4
/** Longer than a store may wait for one that it has woken, before it wakes the next. A shorter one proves less. */
const UNUSED_MS = 300

export function watchSteps(test: Test): void {
  test('wakes for a wanted key that another client releases', async (stage) => {
    const [a, b] = await stage.pair()
    const wakes = watchOn(stage, b)
    wakes.watch.add(stage.key())
    for (let round = 0; round < ROUNDS; round += 1) {
      const wish = await wantedLock(a, b, stage.key())
      await wakes.expect([stage.key()], () => releaseOne(a, wish))
    }
  })

  test('wakes for a key that was added after it was denied', async (stage) => {
    const [a, b] = await stage.pair()
    const wakes = watchOn(stage, b)
    for (let round = 0; round < ROUNDS; round += 1) {
      const key = stage.key(`round-${round}`)
      const wish = await wantedLock(a, b, key)
      // Freed at once, perhaps before the server knows of the subscription.
      await wakes.expect([key], () => {
        wakes.watch.add(key)
        return releaseOne(a, wish)
      })
      wakes.watch.delete(key)
    }
  })

  test('wakes for a key that was freed between its denial and its being added', async (stage) => {
    const [a, b] = await stage.pair()
    const wakes = watchOn(stage, b)
    // With the subscription long in place, and with it still to be made.
    wakes.watch.add(stage.key('another'))
    for (let round = 0; round < ROUNDS; round += 1) {
      const key = stage.key(`round-${round}`)
      const wish = await wantedLock(a, b, key)
      await releaseOne(a, wish)
      await wakes.expect([key], async () => wakes.watch.add(key))
      wakes.watch.delete(key)
    }
  })

  test('wakes every client for a key that nobody had ever held when it was added', async (stage) => {
    const [a, b] = await stage.pair()
    const all = [watchOn(stage, b), watchOn(stage, await stage.client())]
    for (let round = 0; round < ROUNDS; round += 1) {
      const key = stage.key(`round-${round}`)
      // It may be announced, being free. That nobody asks then must not be the end of it.
      for (const { watch } of all) watch.add(key)
      await sleep(UNUSED_MS)
      const wish = await wantedLock(a, b, key)
      const woken = all.map((wakes) => wakes.next([key]))
      await releaseOne(a, wish)
      for (const one of woken) await one()
      for (const { watch } of all) watch.delete(key)
    }
  })

  test('wakes for a wanted key that is evicted', async (stage) => {
    const [a, b] = await stage.pair()
    const wakes = watchOn(stage, b)
    wakes.watch.add(stage.key())
    for (let round = 0; round < ROUNDS; round += 1) {
      await wantedLock(a, b, stage.key())
      await wakes.expect([stage.key()], () => a.evict(stage.key()))
    }
  })

  test('wakes every client that watches', async (stage) => {
    const a = await stage.client()
    const others = await stage.clients(3)
    const all = others.map((store) => watchOn(stage, store))
    for (const { watch } of all) watch.add(stage.key())
    for (let round = 0; round < ROUNDS; round += 1) {
      const wish = ask(stage.key())
      await grantTo(a, wish)
      for (const store of others) await denialOf(store, ask(stage.key()))
      const woken = all.map((wakes) => wakes.next([stage.key()]))
      await releaseOne(a, wish)
      for (const one of woken) await one()
    }
  })

  test('wakes for every key of a batch, whatever is in it', async (stage) => {
    const [a, b] = await stage.pair()
    const keys = hostileKeys(stage.prefix)
    const wakes = watchOn(stage, b)
    for (const key of keys) wakes.watch.add(key)
    for (let round = 0; round < 2; round += 1) {
      const asks = keys.map((key) => ask(key))
      await acquireAll(a, asks)
      for (const [index, answer] of (
        await acquireAll(
          b,
          keys.map((key) => ask(key)),
        )
      ).entries()) {
        assertDenial(answer, keys[index] ?? '')
      }
      await wakes.expect(keys, () => releaseAll(a, asks))
    }
    const strangers = wakes.log.filter((key) => !keys.includes(key))
    assert.deepEqual(strangers, [], 'a wake-up must name a key that was added')
  })

  test('stops waking for a key that was deleted, and only for that', async (stage) => {
    const [a, b] = await stage.pair()
    const [kept, gone] = [stage.key('kept'), stage.key('gone')]
    const wakes = watchOn(stage, b)
    wakes.watch.add(kept)
    wakes.watch.add(gone)
    wakes.watch.delete(gone)
    wakes.watch.delete(stage.key('never added'))
    let disturbed = 0
    for (let round = 0; round < ROUNDS; round += 1) {
      const first = await wantedLock(a, b, gone)
      const second = await wantedLock(a, b, kept)
      const before = wakes.count(gone)
      await wakes.expect([kept], () => releaseAll(a, [first, second]))
      if (wakes.count(gone) > before) disturbed += 1
    }
    assert.ok(disturbed < ROUNDS, 'a deleted key was announced every time')
    // Added again, it is heard again.
    wakes.watch.add(gone)
    const again = await wantedLock(a, b, gone)
    await wakes.expect([gone], () => releaseOne(a, again))
  })

  test('is silent after close, while other watches go on', async (stage) => {
    const [a, b] = await stage.pair()
    const closed = watchOn(stage, b)
    const open = watchOn(stage, b)
    const elsewhere = watchOn(stage, await stage.client())
    for (const { watch } of [closed, open, elsewhere]) watch.add(stage.key())
    const first = await wantedLock(a, b, stage.key())
    await closed.expect([stage.key()], () => releaseOne(a, first))

    await closed.watch.close()
    const before = closed.log.length
    for (let round = 0; round < ROUNDS; round += 1) {
      const wish = await wantedLock(a, b, stage.key())
      const other = elsewhere.next([stage.key()])
      await open.expect([stage.key()], () => releaseOne(a, wish))
      await other()
    }
    assert.equal(closed.log.length, before, 'onFreed was called after close')
    await closed.watch.close()
  })

  test('goes on when another client closes', async (stage) => {
    const [a, b] = await stage.pair()
    const wakes = watchOn(stage, b)
    wakes.watch.add(stage.key())
    const leaving = await stage.client()
    const theirs = watchOn(stage, leaving)
    theirs.watch.add(stage.key())
    await theirs.watch.close()
    await leaving.close()
    for (let round = 0; round < ROUNDS; round += 1) {
      const wish = await wantedLock(a, b, stage.key())
      await wakes.expect([stage.key()], () => releaseOne(a, wish))
    }
  })
}

export function noWatchSteps(test: Test): void {
  test('has no watch, as the option push: false says', async (stage) => {
    const store = await stage.client()
    assert.equal(store.watch, undefined, 'the store has watch: leave out `push: false`')
  })
}

async function wantedLock(a: Store, b: Store, key: string): Promise<Ask> {
  const wish = ask(key)
  await grantTo(a, wish)
  await denialOf(b, ask(key))
  return wish
}

interface Wakes {
  readonly watch: Watch
  /** Each key that was announced, in order. */
  readonly log: string[]
  count(key: string): number
  /** Notes where the log stands; what it returns waits for a later announcement of every key. */
  next(keys: readonly string[]): () => Promise<void>
  /** Does something, and waits until it was announced for every key. */
  expect(keys: readonly string[], act: () => Promise<unknown>): Promise<void>
}

function watchOn(stage: Stage, store: Store): Wakes {
  const log: string[] = []
  assert.ok(store.watch, 'the store has no watch: say `push: false` if its server has no push')
  const watch = store.watch((key) => void log.push(key))
  stage.atEnd(() => watch.close())
  const next = (keys: readonly string[]) => {
    const start = log.length
    return async (): Promise<void> => {
      await stage.until(`onFreed for ${JSON.stringify(keys)}`, () => {
        const since = new Set(log.slice(start))
        return keys.every((key) => since.has(key))
      })
    }
  }
  return {
    watch,
    log,
    count: (key) => log.filter((other) => other === key).length,
    next,
    async expect(keys, act) {
      const woken = next(keys)
      await act()
      await woken()
    },
  }
}
