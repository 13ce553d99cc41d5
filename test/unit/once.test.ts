import { describe, expect, it } from 'vitest'
import { TrialJob } from './support/job.ts'
import { gate, track, world } from './support/world.ts'

describe('once runs a job that is not done', () => {
  it('asks, locks, asks again, runs, and frees the key', async () => {
    const { store, locks } = world()
    const log: string[] = []
    let marked = false
    const outcome = await locks.once('k', {
      done: async () => {
        log.push(`done ${(await store.heldKeys()).length}`)
        return marked
      },
      run: async (lease) => {
        log.push(`run ${(await store.heldKeys()).length} ${lease.held} ${lease.key}`)
        marked = true
      },
    })
    expect(outcome).toBe('ran')
    // The last one looks whether there is a mark.
    expect(log).toEqual(['done 0', 'done 1', 'run 1 true k', 'done 0'])
    expect(await store.heldKeys()).toEqual([])
    await locks.close()
  })

  it('does not touch the store if it is done already', async () => {
    const { time, store, locks } = world()
    const job = new TrialJob()
    job.marked = true
    await expect(locks.once('k', job.options)).resolves.toBe('done')
    expect(store.calls).toEqual([])
    expect(time.timers).toBe(0)
    await locks.close()
  })

  it('does not run what another has done between the first look and the lock', async () => {
    const { time, store, locks } = world()
    const job = new TrialJob()
    const open = gate()
    store.mood.acquire = open.promise
    const call = track(locks.once('k', job.options))
    await time.settle()
    expect(store.count('acquire')).toBe(1)
    job.marked = true
    open.open()
    await time.settle()
    expect(call.value).toBe('done')
    expect(job.runs).toEqual([])
    expect(await store.heldKeys()).toEqual([])
    await locks.close()
  })

  it('is run by one of 100 callers of a process, for a handful of questions', async () => {
    const { time, store, locks } = world()
    const job = new TrialJob()
    const calls = Array.from({ length: 100 }, () => track(locks.once('k', job.options)))
    await time.settle()
    expect(job.runs).toHaveLength(1)
    job.finish()
    await time.settle()
    expect(calls.map(({ value }) => value)).toEqual(['ran', ...Array<string>(99).fill('done')])
    expect(job.runs).toHaveLength(1)
    // Before the lock, under the lock, and whether the mark is there: each once for all.
    expect(job.asked).toBeLessThanOrEqual(4)
    expect(store.count('acquire')).toBe(1)
    expect(locks.stats().waiting).toBe(0)
    expect(await store.heldKeys()).toEqual([])
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('is run by the next one if a run fails, and the error is its own', async () => {
    const { time, locks, other } = world()
    const two = other()
    const job = new TrialJob()
    const first = track(
      locks.once('k', {
        ...job.options,
        run: async () => {
          await time.settle()
          throw new Error('half-way')
        },
      }),
    )
    await time.settle()
    const second = track(two.once('k', job.options))
    const third = track(locks.once('k', job.options))
    await time.settle()
    job.finish()
    await time.advance(1000)
    expect(first.error).toMatchObject({ message: 'half-way' })
    expect([second.value, third.value]).toEqual(expect.arrayContaining(['done', 'ran']))
    await locks.close()
    await two.close()
  })

  it('is followed by another if its process dies', async () => {
    const { time, store, locks, other } = world({ lease: '3s' })
    const two = other({ lease: '3s' })
    const job = new TrialJob()
    const dead = track(locks.once('k', job.options))
    await time.settle()
    expect(job.runs).toHaveLength(1)
    store.mood.renew = 'hang'
    store.mood.release = 'hang'
    const next = track(two.once('k', job.options))
    await time.advance(3100)
    expect(job.runs).toHaveLength(2)
    expect(job.runs[0]?.held).toBe(false)
    job.finish()
    await time.settle()
    expect(next.value).toBe('ran')
    expect(dead.error).toMatchObject({ code: 'LOCK_LOST' })
    delete store.mood.release
    const closed = track(locks.close())
    await time.advance(10_000)
    expect(closed.settled).toBe(true)
    await two.close()
  })

  it('says so if a run leaves no mark, and resolves all the same', async () => {
    const lines: string[] = []
    const { locks } = world({ logger: { warn: (line) => lines.push(line) } })
    const errors: unknown[] = []
    locks.on('error', ({ error }) => errors.push(error))
    await expect(locks.once('k', { done: () => false, run: () => {} })).resolves.toBe('ran')
    expect(errors).toMatchObject([
      { code: 'INVALID_OPTION', key: 'k', message: /run\(\) of "k" has ended but done\(\) is false/ },
    ])
    expect(lines).toHaveLength(1)
    await locks.close()
  })

  it('has run even if it cannot be told afterwards whether there is a mark', async () => {
    const { time, locks } = world()
    let ran = false
    const broken = (): boolean => {
      if (ran) throw new Error('gone')
      return false
    }
    await expect(locks.once('k', { done: broken, run: () => void (ran = true) })).resolves.toBe('ran')
    ran = false
    const silent = (): Promise<boolean> | boolean => ran && new Promise<boolean>(() => {})
    const call = track(locks.once('k', { done: silent, run: () => void (ran = true), lease: '3s' }))
    await time.advance(3000)
    expect(call.value).toBe('ran')
    await locks.close()
    expect(time.timers).toBe(0)
  })
})

describe('once that loses its lease', () => {
  it('G6 tells the runner by its signal, and rejects with LOCK_LOST', async () => {
    const { time, store, locks } = world({ lease: '3s' })
    const job = new TrialJob()
    const call = track(locks.once('k', job.options))
    await time.settle()
    store.mood.renew = 'fail'
    await time.advance(3000)
    expect(job.runs[0]?.signal.reason).toMatchObject({ code: 'LOCK_LOST' })
    expect(call.settled).toBe(false)
    const asked = job.asked
    job.finish()
    await time.settle()
    expect(call.error).toMatchObject({ code: 'LOCK_LOST', key: 'k' })
    expect(job.asked).toBe(asked)
    await locks.close()
  })

  it('G6 rejects with the error of run, if that threw one', async () => {
    const { time, store, locks } = world({ lease: '3s' })
    const run = async (lease: { signal: AbortSignal }): Promise<void> => {
      await new Promise((resolve) => lease.signal.addEventListener('abort', resolve))
      throw new Error('stopped')
    }
    const call = track(locks.once('k', { done: () => false, run }))
    await time.settle()
    store.mood.renew = 'fail'
    await time.advance(3000)
    expect(call.error).toMatchObject({ message: 'stopped' })
    await locks.close()
  })

  it('does not run if it was lost while done() was looking', async () => {
    const { time, store, locks } = world({ lease: '3s' })
    const answer = gate()
    let asked = 0
    const done = async (): Promise<boolean> => {
      asked += 1
      if (asked === 2) await answer.promise
      return false
    }
    let runs = 0
    const call = track(locks.once('k', { done, run: () => void (runs += 1) }))
    await time.settle()
    expect(asked).toBe(2)
    store.mood.renew = 'fail'
    await time.advance(3000)
    expect(call.error).toMatchObject({ code: 'LOCK_LOST' })
    answer.open()
    await time.settle()
    expect(runs).toBe(0)
    await locks.close()
  })

  it('is done, not lost, if all that it did was to look', async () => {
    const { store, locks, other } = world()
    const two = other()
    let asked = 0
    const done = async (): Promise<boolean> => {
      asked += 1
      if (asked === 2) await two.forceRelease('k')
      return asked === 2
    }
    await expect(locks.once('k', { done, run: () => {} })).resolves.toBe('done')
    expect(store.count('release')).toBe(1)
    await locks.close()
    await two.close()
  })
})
