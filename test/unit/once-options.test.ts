import { describe, expect, it } from 'vitest'
import type { OnceOptions } from '../../src/index.ts'
import { world } from './support/world.ts'

const nothing = (): void => {}

describe('bad input is refused at the call, before anything is asked', () => {
  const done = (): boolean => {
    throw new Error('asked')
  }
  it.each<[string, unknown, RegExp]>([
    ['no options', undefined, /once: options must be an object/],
    ['a function', () => {}, /once: options must be an object/],
    ['no done', { run: nothing }, /once: done: give a function .*once\(key, \{ done, run \}\)/],
    ['a done that is a value', { done: true, run: nothing }, /once: done: give a function/],
    ['no run', { done }, /once: run: give a function .*once\(key, \{ done, run \}\)/],
    [
      'an unknown option',
      { done, run: nothing, timeout: 5 },
      /once: unknown option 'timeout'; known are done, run, /,
    ],
    ['onLost: a loss is always told', { done, run: nothing, onLost: 'ignore' }, /unknown option 'onLost'/],
    ['a bad wait', { done, run: nothing, wait: 'long' }, /wait: 'long' is not a duration/],
    ['a bad lease', { done, run: nothing, lease: 1 }, /lease: 1 is too short/],
    ['a bad signal', { done, run: nothing, signal: {} }, /signal: give an AbortSignal/],
  ])('%s', async (_what, options, says) => {
    const { store, locks } = world()
    await expect(locks.once('k', options as OnceOptions)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(says),
    })
    expect(store.calls).toEqual([])
    await locks.close()
  })

  it('a bad key', async () => {
    const { locks } = world()
    await expect(locks.once('', { done, run: nothing })).rejects.toMatchObject({ code: 'INVALID_LOCK_KEY' })
    await locks.close()
  })

  it('the options of the lock are those of using', async () => {
    const { locks } = world()
    let seen: unknown
    let ran = false
    const run = async (): Promise<void> => {
      seen = await locks.inspect('k')
      ran = true
    }
    await locks.once('k', { done: () => ran, run, lease: '1m', context: { why: 'seed' } })
    expect(seen).toMatchObject({ leaseMs: 60_000, holder: { context: '{"why":"seed"}' } })
    await locks.close()
  })
})
