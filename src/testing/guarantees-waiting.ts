import assert from 'node:assert/strict'
import { assertRising } from './claims.ts'
import { ProbeStore } from './probe-store.ts'
import type { Test } from './stage.ts'

const WAITERS = 30

/** G8. Every lease is far longer than the wait, so that no expiry passes for a wake-up. */
export function waitingGuarantees(test: Test): void {
  test('G8 waiters of one client are served first come, first served', async (stage) => {
    const locks = await stage.locks()
    const first = await locks.acquire(stage.key())
    const order: number[] = []
    const waiting = Array.from({ length: WAITERS }, (_, turn) => {
      return locks.using(stage.key(), async () => void order.push(turn))
    })
    await first.release()
    await Promise.all(waiting)
    assert.deepEqual(
      order,
      Array.from({ length: WAITERS }, (_, turn) => turn),
    )
  })

  test('G8 many waiters of one client are one waiter for the server', async (stage) => {
    const probe = new ProbeStore(await stage.client())
    const crowd = await stage.locks({ poll: { min: 50, max: 50 } }, probe)
    const holder = await (await stage.locks()).acquire(stage.key())
    const order: number[] = []
    const waiting = Array.from({ length: WAITERS }, (_, turn) => {
      return crowd.using(stage.key(), async () => void order.push(turn))
    })
    // The head asks again and again; nobody behind it asks at all.
    await stage.until('the head to ask a third time', () => probe.asks >= 3)
    assert.ok(probe.asks < WAITERS / 2, `${probe.asks} asks: more than the head has asked`)
    await holder.release()
    await Promise.all(waiting)
    assert.equal(probe.mostAsksAtOnce, 1)
    assert.deepEqual(
      order,
      Array.from({ length: WAITERS }, (_, turn) => turn),
    )
  })

  test('G8 a release lets a waiter of another client in, long before the lease ends', async (stage) => {
    const [a, b] = [await stage.locks(), await stage.locks()]
    for (let round = 0; round < 3; round += 1) {
      const holder = await a.acquire(stage.key())
      const waiting = b.acquire(stage.key())
      await holder.release()
      const next = await waiting
      assertRising([holder.token, next.token], 'tokens over a release')
      await next.release()
    }
  })
}

export function pushGuarantees(test: Test): void {
  test('G8 push wakes a waiter that would not ask again by itself', async (stage) => {
    const a = await stage.locks()
    const probe = new ProbeStore(await stage.client())
    const b = await stage.locks({ poll: { min: '1h', max: '1h' } }, probe)
    for (let round = 0; round < 5; round += 1) {
      const holder = await a.acquire(stage.key())
      const waiting = b.acquire(stage.key())
      await stage.until('the waiter to watch', () => probe.watched.has(stage.key()))
      await holder.release()
      const next = await waiting
      await next.release()
    }
  })

  test('G8 push wakes a waiter whose key comes free while it asks', async (stage) => {
    const a = await stage.locks()
    const b = await stage.locks({ poll: { min: '1h', max: '1h' } })
    for (let round = 0; round < 5; round += 1) {
      const holder = await a.acquire(stage.key(`round-${round}`))
      // Under way together: the release may come before the ask, after it, or before it is watched.
      const waiting = b.acquire(stage.key(`round-${round}`))
      await holder.release()
      await (await waiting).release()
    }
  })

  test('G8 push wakes a waiter when the holder is forced out', async (stage) => {
    const a = await stage.locks()
    const probe = new ProbeStore(await stage.client())
    const b = await stage.locks({ poll: { min: '1h', max: '1h' } }, probe)
    const victim = await a.acquire(stage.key())
    const waiting = b.acquire(stage.key())
    await stage.until('the waiter to watch', () => probe.watched.has(stage.key()))
    await a.forceRelease(stage.key())
    const next = await waiting
    assertRising([victim.token, next.token], 'tokens over a forced release')
    assert.equal(await victim.release(), false)
    assert.equal(await next.release(), true)
  })
}
