import assert from 'node:assert/strict'
import { assertRising } from './claims.ts'
import { ProbeStore } from './probe-store.ts'
import type { Stage, Test } from './stage.ts'
import { heldKeys } from './steps-list.ts'
import type { Locks } from '../locks.ts'

// Of the client whose replies get lost: short, so that "unknown" comes soon. The leases are long, so
// that a key comes free by compensation or not at all.
const CALL_TIMEOUT_MS = 300

/** G5: the store has done it, but the caller never hears of it. */
export function replyGuarantees(test: Test): void {
  for (const loss of ['reply lost', 'reply never comes'] as const) {
    test(`G5 an acquire leaves the key to others: ${loss}`, async (stage) => {
      const [probe, unlucky] = await probedLocks(stage)
      probe.loseNext('acquire', loss)
      await assert.rejects(unlucky.acquire(stage.key(), { wait: 0 }), { code: 'STORE_UNAVAILABLE' })
      await assertFree(stage)
    })
  }

  for (const loss of ['request lost', 'reply lost', 'reply never comes'] as const) {
    test(`G5 a release frees the key in the end: ${loss}`, async (stage) => {
      const [probe, unlucky] = await probedLocks(stage)
      const lease = await unlucky.acquire(stage.key())
      probe.loseNext('release', loss)
      // Whether it worked is unknown to the caller; that it is over is not.
      await lease.release().catch((error: unknown) => {
        assert.equal((error as { code?: unknown }).code, 'LOCK_RELEASE_FAILED')
      })
      assert.equal(lease.held, false)
      await assertFree(stage)
    })
  }

  test('G5 a grant that arrives after its caller gave up is given back', async (stage) => {
    const [probe, unlucky] = await probedLocks(stage)
    let deliver = (): void => undefined
    probe.loseNext('acquire', { delivered: new Promise((resolve) => (deliver = resolve)) })
    const impatience = new AbortController()
    const waiting = unlucky.acquire(stage.key(), { signal: impatience.signal })
    const gone = assert.rejects(waiting, { code: 'LOCK_ABORTED' })
    await stage.until('the ask to be under way', () => probe.asks > 0)
    impatience.abort()
    await gone
    deliver()
    await assertFree(stage)
  })

  test('G5 a network that sends everything twice changes nothing', async (stage) => {
    const probe = new ProbeStore(await stage.client())
    probe.doubling = true
    const [doubled, other] = [await stage.locks({}, probe), await stage.locks()]
    const tokens: bigint[] = []
    for (let round = 0; round < 5; round += 1) {
      await doubled.using(stage.key(), async (lease) => {
        tokens.push(lease.token)
        await lease.extend()
        assert.equal(await other.tryAcquire(stage.key()), null)
      })
      await other.using(stage.key(), async (lease) => void tokens.push(lease.token))
    }
    assertRising(tokens, 'tokens in the order of holding')
    await assertFree(stage)
  })
}

async function probedLocks(stage: Stage): Promise<[ProbeStore, Locks]> {
  const probe = new ProbeStore(await stage.client())
  return [probe, await stage.locks({ callTimeout: CALL_TIMEOUT_MS }, probe)]
}

/** Somebody else gets the key, long before the lease would have ended, and nothing stays behind. */
async function assertFree(stage: Stage): Promise<void> {
  const other = await stage.locks()
  const lease = await other.acquire(stage.key())
  assert.equal(await lease.release(), true)
  const store = await stage.client()
  await stage.until('nothing to be held', async () => (await heldKeys(stage, store)).length === 0)
}
