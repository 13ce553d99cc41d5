import { describe, expect, it } from 'vitest'
import type { Lease } from '../../src/lease.ts'
import type { TransactionGuard } from '../../src/options.ts'
import { gate, track, world, type World } from './support/world.ts'

interface Tx {
  readonly name: string
}

/** A transaction manager that writes down what it does, and when the key is held. */
function stage(options: Parameters<typeof world>[0] = {}): World & {
  log: string[]
  note: (what: string) => Promise<void>
  manager: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>
} {
  const here = world(options)
  const log: string[] = []
  const note = async (what: string): Promise<void> => {
    log.push(`${what}${(await here.store.heldKeys()).includes('key') ? ' (locked)' : ''}`)
  }
  return {
    ...here,
    log,
    note,
    async manager(work) {
      await note('begin')
      try {
        const result = await work({ name: 'tx' })
        await note('commit')
        return result
      } catch (error) {
        await note('rollback')
        throw error
      }
    },
  }
}

const fail = (error: Error) => (): never => {
  throw error
}

describe('a transaction manager', () => {
  it('runs in the order lock, begin, check, function, commit, unlock', async () => {
    const { locks, log, note, manager } = stage()
    const seen: unknown[] = []
    const fence = guard(async (...args) => {
      seen.push(...args)
      await note('check')
    })
    const result = await locks.transaction(
      'key',
      manager,
      async (tx: Tx, lease) => {
        await note(`work in ${tx.name}`)
        expect(lease.held).toBe(true)
        expect(seen).toEqual([tx, 'key', lease.token])
        return 42
      },
      { fence },
    )
    await note('after')
    expect(result).toBe(42)
    expect(log).toEqual([
      'begin (locked)',
      'check (locked)',
      'work in tx (locked)',
      'commit (locked)',
      'after',
    ])
  })

  it('unlocks after the rollback, and passes the error on', async () => {
    const { locks, log, note, manager } = stage()
    const own = new Error('own')
    await expect(locks.transaction('key', manager, fail(own))).rejects.toBe(own)
    await note('after')
    expect(log).toEqual(['begin (locked)', 'rollback (locked)', 'after'])
  })

  it('gets the lease, for its time limit', async () => {
    const { locks } = world()
    let given: Lease | undefined
    const used = await locks.transaction(
      'key',
      (work, lease) => {
        given = lease
        return work({ name: 'tx' })
      },
      (_tx: Tx, lease: Lease) => lease,
    )
    expect(given).toBe(used)
  })

  it('need not pass the result on', async () => {
    const { locks } = world()
    const swallows = async (work: (tx: Tx) => Promise<unknown>): Promise<void> =>
      void (await work({ name: '' }))
    expect(await locks.transaction('key', swallows, () => 'mine')).toBe('mine')
  })

  it('may try again, and the last try counts', async () => {
    const { locks } = world()
    let tries = 0
    const stubborn = async (work: (tx: Tx) => Promise<number>): Promise<number> => {
      try {
        return await work({ name: 'first' })
      } catch {
        return work({ name: 'second' })
      }
    }
    const body = (tx: Tx): number => {
      tries += 1
      if (tx.name === 'first') throw new Error('could not serialize')
      return tries
    }
    expect(await locks.transaction('key', stubborn, body)).toBe(2)
  })

  it('cannot hide the error of the function', async () => {
    const { locks, store } = world()
    const own = new Error('own')
    const hides = (work: (tx: Tx) => Promise<unknown>): Promise<unknown> =>
      work({ name: '' }).catch(() => 'fine')
    await expect(locks.transaction('key', hides, fail(own))).rejects.toBe(own)
    const wraps = (work: (tx: Tx) => Promise<unknown>): Promise<unknown> =>
      work({ name: '' }).catch(fail(new Error('wrapped')))
    await expect(locks.transaction('key', wraps, fail(own))).rejects.toBe(own)
    expect(await store.heldKeys()).toEqual([])
  })

  it('that fails to begin or to commit has its own error passed on', async () => {
    const { locks } = world()
    const own = new Error('no connection')
    await expect(locks.transaction('key', fail(own), () => 1)).rejects.toBe(own)
    const commitFails = async (work: (tx: Tx) => Promise<unknown>): Promise<void> => {
      await work({ name: '' })
      throw own
    }
    await expect(locks.transaction('key', commitFails, () => 1)).rejects.toBe(own)
  })

  it.each([
    ['never calls the work', async () => undefined, /resolved without having called the work/],
    [
      'does not wait for the work',
      async (work: (tx: Tx) => Promise<unknown>) => void work({ name: '' }),
      /resolved before the work had ended/,
    ],
    [
      'calls the work twice at once',
      (work: (tx: Tx) => Promise<unknown>) => Promise.allSettled([work({ name: '' }), work({ name: '' })]),
      /while it was running/,
    ],
  ])('that %s is told so', async (_what, manager, message) => {
    const { locks, store, time } = world()
    const { promise, open } = gate()
    const outcome = track(locks.transaction('key', manager as () => Promise<void>, () => promise))
    await time.settle()
    open()
    await time.settle()
    expect(outcome.error).toMatchObject({
      code: 'INVALID_OPTION',
      key: 'key',
      message: expect.stringMatching(message),
    })
    expect(await store.heldKeys()).toEqual([])
  })

  it('that gives up before the work has ended: the key stays locked until it has', async () => {
    const { locks, store, time } = world()
    const own = new Error('transaction timeout')
    const impatient = (work: (tx: Tx) => Promise<unknown>): Promise<never> => {
      work({ name: '' }).catch(() => undefined)
      return Promise.reject(own)
    }
    const { promise, open } = gate()
    const outcome = track(locks.transaction('key', impatient, () => promise))
    await time.settle()
    expect(outcome.settled).toBe(false)
    expect(await store.heldKeys()).toEqual(['key'])
    open()
    await time.settle()
    expect(outcome.error).toBe(own)
    expect(await store.heldKeys()).toEqual([])
  })

  it('that calls the work after it has ended is refused', async () => {
    const { locks } = world()
    let later!: () => Promise<unknown>
    let calls = 0
    const keeps = (work: (tx: Tx) => Promise<unknown>): Promise<unknown> => {
      later = () => work({ name: 'late' })
      return work({ name: '' })
    }
    await locks.transaction('key', keeps, () => (calls += 1))
    await expect(later()).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    expect(calls).toBe(1)
  })
})

describe('a lease that is lost', () => {
  it('before the commit: the work is refused, it is rolled back, LOCK_LOST', async () => {
    const { locks, log, store, time, manager } = stage()
    const outcome = track(
      locks.transaction('key', manager, async () => {
        store.mood.renew = 'fail'
        await time.advance(30_000)
      }),
    )
    await time.advance(31_000)
    expect(outcome.error).toMatchObject({ code: 'LOCK_LOST', key: 'key' })
    expect(log.map((line) => line.replace(' (locked)', ''))).toEqual(['begin', 'rollback'])
  })

  it('is reported even if the manager hides it, which then may have committed', async () => {
    const { locks, store, time } = world()
    const hides = (work: (tx: Tx) => Promise<unknown>): Promise<unknown> =>
      work({ name: '' }).catch(() => 'fine')
    const outcome = track(
      locks.transaction('key', hides, () => {
        store.mood.renew = 'fail'
        time.block(31_000)
      }),
    )
    await time.settle()
    expect(outcome.error).toMatchObject({
      code: 'LOCK_LOST',
      message: expect.stringMatching(/may have committed/),
    })
  })

  it('ends the tries of a manager: no further call of the function', async () => {
    const { locks, time } = world()
    let calls = 0
    const stubborn = async (work: (tx: Tx) => Promise<unknown>): Promise<unknown> => {
      for (let i = 0; i < 3; i += 1) await work({ name: '' }).catch(() => undefined)
      return work({ name: '' })
    }
    const body = (): void => {
      calls += 1
      time.block(31_000)
      throw new Error('could not serialize')
    }
    await expect(locks.transaction('key', stubborn, body)).rejects.toMatchObject({ code: 'LOCK_LOST' })
    expect(calls).toBe(1)
  })

  it("does not hide the function's own error", async () => {
    const { locks, time, manager } = stage()
    const own = new Error('own')
    const body = (): never => {
      time.block(31_000)
      throw own
    }
    await expect(locks.transaction('key', manager, body)).rejects.toBe(own)
  })

  it('after the work, while the manager commits: what is committed counts', async () => {
    const { locks, time } = world()
    const lost: string[] = []
    locks.on('lost', ({ key }) => lost.push(key))
    const slow = async (work: (tx: Tx) => Promise<unknown>): Promise<void> => {
      await work({ name: '' })
      time.block(31_000)
    }
    expect(await locks.transaction('key', slow, () => 'done')).toBe('done')
    expect(lost).toEqual(['key'])
  })

  it('is refused before the function is called, if the check took too long', async () => {
    const { locks, time, manager } = stage()
    let calls = 0
    const fence = guard(() => time.block(31_000))
    const outcome = locks.transaction('key', manager, () => (calls += 1), { fence })
    await expect(outcome).rejects.toMatchObject({ code: 'LOCK_LOST' })
    expect(calls).toBe(0)
  })
})

describe('sections around and inside', () => {
  it('G10 a transaction inside using enters at once, with the same token', async () => {
    const { locks, store, manager } = stage()
    await locks.using('key', async (outer) => {
      const inner = await locks.transaction('key', manager, (_tx, lease) => lease.token)
      expect(inner).toBe(outer.token)
      expect(await store.heldKeys()).toEqual(['key'])
    })
    expect(store.count('acquire')).toBe(1)
  })

  it('G10 using inside a transaction enters at once', async () => {
    const { locks, store, manager } = stage()
    await locks.transaction('key', manager, (_tx, outer) =>
      locks.using('key', (inner) => expect(inner.token).toBe(outer.token)),
    )
    expect(store.count('acquire')).toBe(1)
  })

  it('a transaction that would wait for the guard of the one around it is refused', async () => {
    const { locks, manager } = stage()
    const fence = guard(() => undefined)
    const inner = (): Promise<number> => locks.transaction('key', manager, () => 1, { fence })
    await expect(locks.transaction('key', manager, inner, { fence })).rejects.toMatchObject({
      code: 'DEADLOCK',
    })
    // Another key has another row.
    expect(await locks.transaction('other', manager, inner, { fence })).toBe(1)
    expect(await locks.transaction('key', manager, inner, { fence: false })).toBe(1)
  })
})

describe('G12 nothing is left', () => {
  it('no timer and no key, however a transaction ends', async () => {
    const { locks, store, time, manager } = stage()
    await locks.transaction('key', manager, () => 1)
    await locks.transaction('key', manager, fail(new Error('own'))).catch(() => undefined)
    await locks.close()
    expect(time.timers).toBe(0)
    expect(await store.heldKeys()).toEqual([])
  })
})

function guard(check: (...args: unknown[]) => unknown): TransactionGuard {
  return { check: async (...args) => void (await check(...args)) }
}
