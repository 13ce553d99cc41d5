import assert from 'node:assert/strict'
import type { LockError } from '../errors.ts'
import type { Locks } from '../locks.ts'
import { assertRising, LONG_MS } from './claims.ts'
import type { Test } from './stage.ts'
import { heldKeys } from './steps-list.ts'
import { turn } from './timing.ts'

const CLIENTS = 3
const TASKS = 5
const ROUNDS = 6

export function exclusionGuarantees(test: Test): void {
  test('G1 tasks of several clients never overlap, and lose no update', async (stage) => {
    const all = await Promise.all(Array.from({ length: CLIENTS }, () => stage.locks()))
    const tokens: bigint[] = []
    let inside = 0
    let count = 0
    const work = async (client: number): Promise<void> => {
      for (let round = 0; round < ROUNDS; round += 1) {
        await all[client]?.using(stage.key(), async (lease) => {
          inside += 1
          assert.equal(inside, 1, 'two tasks hold the key at once')
          tokens.push(lease.token)
          const before = count
          await turn()
          count = before + 1
          inside -= 1
        })
      }
    }
    await Promise.all(Array.from({ length: CLIENTS * TASKS }, (_, task) => work(task % CLIENTS)))
    assert.equal(count, CLIENTS * TASKS * ROUNDS)
    assertRising(tokens, 'G3: tokens in the order of holding')
  })

  test('G1 different keys do not wait for each other', async (stage) => {
    const [a, b] = [await stage.locks(), await stage.locks()]
    const held = await a.acquire(stage.key('one'))
    assert.equal(await b.tryAcquire(stage.key('one')), null)
    const other = await b.tryAcquire(stage.key('two'))
    assert.ok(other, 'another key must be free')
    assert.equal(await held.release(), true)
    assert.equal(await other.release(), true)
    assert.deepEqual(await heldKeys(stage, await stage.client()), [])
  })

  test('G3 tokens rise over hand-off, release, expiry and forced release', async (stage) => {
    const [a, b] = [await stage.locks(), await stage.locks()]
    const tokens: bigint[] = []
    const note = async (lease: { token: bigint }): Promise<void> => void tokens.push(lease.token)
    const key = stage.key()

    // Three tasks of one client: the key is handed on inside it.
    const together = [a.using(key, note), a.using(key, note), a.using(key, note)]
    await Promise.all(together)
    await b.using(key, note)

    const left = await a.acquire(key, { lease: stage.settings.shortMs, renew: false })
    await note(left)
    const taken = await b.acquire(key)
    await note(taken)

    await a.forceRelease(key)
    const next = await a.acquire(key)
    await note(next)
    assert.equal(await taken.release(), false, 'a lease that was forced out reports so')
    assert.equal(await next.release(), true)
    await (await stage.locks()).using(key, note)
    assertRising(tokens, 'tokens in the order of holding')
  })

  test('G4 a late holder cannot release or prolong what its successor holds', async (stage) => {
    const [a, b, c] = [await stage.locks(), await stage.locks(), await stage.locks()]
    const late = await a.acquire(stage.key(), { lease: stage.settings.shortMs, renew: false })
    const successor = await b.acquire(stage.key(), { lease: LONG_MS })
    assertRising([late.token, successor.token], 'tokens over a take-over')
    assert.equal(late.held, false, 'the late holder must know before its successor gets in')
    await assert.rejects(late.extend(), { code: 'LOCK_LOST' })
    assert.equal(await late.release(), false)
    assert.equal(await c.tryAcquire(stage.key()), null)
    assert.equal(successor.held, true)
    assert.equal(await successor.release(), true)
  })

  test('G1 G3 several keys are taken all or none, and in any order without a deadlock', async (stage) => {
    const all = await Promise.all(Array.from({ length: CLIENTS }, () => stage.locks()))
    const names = ['a', 'b', 'c'].map((name) => stage.key(name))
    const inside = new Set<string>()
    const tokens = new Map<string, bigint[]>(names.map((name) => [name, []]))
    const work = async (task: number): Promise<void> => {
      const one = names[task % 3] as string
      const keys = task % 4 === 0 ? [one] : [one, names[(task + (task % 2) + 1) % 3] as string]
      for (let round = 0; round < ROUNDS / 2; round += 1) {
        await all[task % CLIENTS]?.using(keys, async (lease) => {
          for (const key of keys) {
            assert.equal(inside.has(key), false, 'two tasks hold the key at once')
            inside.add(key)
            tokens.get(key)?.push(lease.tokenFor(key))
          }
          await turn()
          for (const key of keys) inside.delete(key)
        })
      }
    }
    await Promise.all(Array.from({ length: CLIENTS * 4 }, (_, task) => work(task)))
    for (const [key, list] of tokens) assertRising(list, `tokens of ${key} in the order of holding`)

    const [first, second] = [all[0] as Locks, all[1] as Locks]
    const held = await first.acquire(names[1] as string)
    assert.equal(await second.tryAcquire(names), null)
    assert.equal(await held.release(), true)
    const lease = await second.acquire(names.toReversed())
    assert.equal(await first.tryAcquire(names[2] as string), null)
    assert.equal(await lease.release(), true)
    assert.deepEqual(await heldKeys(stage, await stage.client()), [])
  })

  test('G5 whoever gives up on several keys, after its wait or by its signal, keeps none', async (stage) => {
    const [holder, other, view] = [await stage.locks(), await stage.locks(), await stage.client()]
    const [first, second, third] = ['a', 'b', 'c'].map((name) => stage.key(name)) as [string, string, string]
    const keys = [first, second, third]
    const held = await holder.acquire(second)
    const shows = async (expected: readonly string[]): Promise<boolean> =>
      (await heldKeys(stage, view)).toSorted().join() === expected.join()

    // Within a wait as short as that, a busy machine may have heard nothing of the store.
    let code: unknown = 'STORE_UNAVAILABLE'
    for (let wait = stage.settings.shortMs; code === 'STORE_UNAVAILABLE'; wait *= 2) {
      assert.ok(wait < 2 * stage.settings.patienceMs, 'the store must answer')
      code = await other.acquire(keys, { wait }).catch((error: LockError) => error.code)
    }
    assert.equal(code, 'LOCK_ACQUIRE_TIMEOUT')
    await stage.until('all but the taken key to be free after the wait', () => shows([second]))

    const stop = new AbortController()
    const called = assert.rejects(other.acquire(keys, { signal: stop.signal }), { code: 'LOCK_ABORTED' })
    await stage.until('the key before the taken one to be held', () => shows([first, second]))
    stop.abort()
    await called
    await stage.until('all but the taken key to be free after the abort', () => shows([second]))

    assert.equal(await held.release(), true)
    const lease = await other.acquire(keys)
    assert.equal(await lease.release(), true)
    assert.ok(await shows([]), 'all must be free in the end')
  })
}
