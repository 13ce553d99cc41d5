import assert from 'node:assert/strict'
import { ProbeStore } from './probe-store.ts'
import type { Test } from './stage.ts'
import { heldKeys } from './steps-list.ts'
import { sleep } from './timing.ts'

// Renewed every third of it, so that a renewal that was forgotten shows soon.
const LIVELY_MS = 600

export function closingGuarantees(test: Test): void {
  test('G12 close leaves no key, no waiter, no watch and no call behind', async (stage) => {
    const probe = new ProbeStore(await stage.client())
    const leaving = await stage.locks({ poll: { min: 50, max: 100 } }, probe)
    const staying = await stage.locks()
    const theirs = await staying.acquire(stage.key('theirs'))

    const mine = ['a', 'b', 'c'].map((name) => stage.key(name))
    for (const key of mine) await leaving.acquire(key)
    await leaving.acquire(stage.key('lively'), { lease: Math.max(LIVELY_MS, stage.settings.shortMs * 3) })
    const waiting = [...mine, stage.key('theirs')].map((key) => {
      return assert.rejects(leaving.acquire(key, { wait: Infinity }), { code: 'CLOSED' })
    })
    const asked = mine.length + 1
    await stage.until('the waiter for the key of another to ask', () => probe.asks > asked)

    await leaving.close()
    await Promise.all(waiting)
    assert.equal(probe.openWatches, 0, 'a watch is still open')
    assert.equal(probe.closed, 1, 'the store must be closed once')
    const { calls } = probe
    assert.deepEqual(await heldKeys(stage, await stage.client()), [stage.key('theirs')])

    // A renewal or a poll that was forgotten would come within this time.
    await sleep(LIVELY_MS)
    assert.equal(probe.calls, calls, 'the store was called after close')
    assert.equal(await theirs.release(), true)
  })

  test('G12 what was used and given back leaves nothing to list', async (stage) => {
    const locks = await stage.locks()
    const keys = stage.keys(50)
    await Promise.all(
      keys.flatMap((key) => [locks.using(key, async () => {}), locks.using(key, async () => {})]),
    )
    await locks.close()
    assert.deepEqual(await heldKeys(stage, await stage.client()), [])
  })
}
