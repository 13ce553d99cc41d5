import { describe, expect, it } from 'vitest'
import { TrialJob } from './support/job.ts'
import { track, world } from './support/world.ts'

describe('once inside a section', () => {
  it('G10 enters the key of the section around it again, with the same token', async () => {
    const { store, locks } = world()
    const job = new TrialJob()
    job.finish()
    await locks.using('k', async (outer) => {
      const calls = store.calls.length
      await expect(locks.once('k', job.options)).resolves.toBe('ran')
      expect(job.runs[0]?.token).toBe(outer.token)
      await expect(
        locks.once('k', { done: () => false, run: () => {}, reentrant: false }),
      ).rejects.toMatchObject({
        code: 'DEADLOCK',
      })
      expect(store.calls.length).toBe(calls)
    })
    await locks.close()
  })

  it('G10 makes a section: run may take the key again', async () => {
    const { locks } = world()
    let inner = 0n
    let outer = 1n
    const run = async (lease: { token: bigint }): Promise<void> => {
      outer = lease.token
      inner = await locks.using('k', { wait: 0 }, ({ token }) => token)
    }
    await locks.once('k', { done: () => inner === outer, run })
    expect(inner).toBe(outer)
    await locks.close()
  })

  it('G10 asks for all, but never by right of the section of another', async () => {
    const { time, locks } = world()
    const peeked: unknown[] = []
    const peek = async (): Promise<boolean> => {
      peeked.push(await locks.tryAcquire('outer'))
      return true
    }
    const never = (): Promise<boolean> => new Promise(() => {})
    const calls = locks.using('outer', async () => {
      // When this one gives up, in its own flow, the question falls to the other.
      const inside = track(locks.once('k', { done: never, run: () => {}, wait: '1s' }))
      await time.settle()
      outside()
      await time.advance(1000)
      return inside
    })
    let outside!: () => void
    await new Promise<void>((resolve) => (outside = resolve))
    const other = track(locks.once('k', { done: peek, run: () => {} }))
    expect((await calls).error).toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
    expect(other.value).toBe('done')
    expect(peeked).toEqual([null])
    await locks.close()
  })
})
