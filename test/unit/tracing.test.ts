import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, it } from 'vitest'
import type { Tracing } from '../../src/monitor/tracing.ts'
import { track, world } from './support/world.ts'

/** Writes down when each span begins and how it ends. */
function recorder(lines: string[], name = ''): Tracing {
  const span = async <T>(title: string, run: () => Promise<T>): Promise<T> => {
    lines.push(`${name}${title}`)
    try {
      const result = await run()
      lines.push(`${name}${title}: ${result === null ? 'denied' : 'done'}`)
      return result
    } catch (error) {
      lines.push(`${name}${title}: ${(error as { code?: string }).code ?? (error as Error).message}`)
      throw error
    }
  }
  return {
    acquiring: (keys, run) => span(`acquire ${String(keys)}`, run),
    holding: (lease, run) => span(`hold ${lease.key}`, run),
  }
}

describe('a tracer', () => {
  it('stands around the wait and around the body, and sees what the caller gets', async () => {
    const { locks, other } = world({ wait: 0 })
    const two = other()
    const lines: string[] = []
    const stop = locks.trace(recorder(lines))
    await locks.using('k', () => void lines.push('body'))
    const theirs = await two.acquire('taken')
    expect(await locks.tryAcquire('taken')).toBeNull()
    await expect(locks.acquire(['b', 'taken'])).rejects.toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
    await expect(locks.using('k', () => Promise.reject(new Error('mine')))).rejects.toThrow('mine')
    stop()
    await locks.using('k', () => {})
    expect(lines).toEqual([
      'acquire k',
      'acquire k: done',
      'hold k',
      'body',
      'hold k: done',
      'acquire taken',
      'acquire taken: denied',
      'acquire b,taken',
      'acquire b,taken: LOCK_ACQUIRE_TIMEOUT',
      'acquire k',
      'acquire k: done',
      'hold k',
      'hold k: mine',
    ])
    await theirs.release()
    await Promise.all([locks.close(), two.close()])
  })

  it('has the body in its own context, where the same key can still be entered again', async () => {
    const { locks } = world()
    const span = new AsyncLocalStorage<string>()
    locks.trace({
      acquiring: (_keys, run) => run(),
      holding: (lease, run) => span.run(`span of ${lease.key}`, run),
    })
    const seen = await locks.using('k', () => locks.using('k', async () => span.getStore()))
    expect(seen).toBe('span of k')
    expect(locks.stats()).toMatchObject({ granted: 2, reentered: 1 })
    await locks.close()
  })

  it('may be one of several, and is removed one by one', async () => {
    const { locks } = world()
    const lines: string[] = []
    const [stopA, stopB] = [locks.trace(recorder(lines, 'A ')), locks.trace(recorder(lines, 'B '))]
    await locks.using('k', () => {})
    expect(lines.slice(0, 4)).toEqual([
      'A acquire k',
      'B acquire k',
      'B acquire k: done',
      'A acquire k: done',
    ])
    stopA()
    stopA()
    lines.length = 0
    await (await locks.acquire('k')).release()
    expect(lines).toEqual(['B acquire k', 'B acquire k: done'])
    stopB()
    lines.length = 0
    await locks.using('k', () => {})
    expect(lines).toEqual([])
    await locks.close()
  })

  const broken: Record<string, (run: () => Promise<unknown>) => unknown> = {
    'throws before': () => {
      throw new Error('tracer')
    },
    'throws after': (run) => {
      void run()
      throw new Error('tracer')
    },
    'rejects by itself': async (run) => {
      await run()
      throw new Error('tracer')
    },
    'never runs it': () => new Promise(() => {}),
    'runs it twice': (run) => Promise.all([run(), run()]),
    'runs it too late': (run) => Promise.resolve().then(run),
    'returns nothing': () => {},
    'returns something else': async (run) => {
      await run()
      return 'else'
    },
    'never ends': async (run) => {
      await run()
      await new Promise(() => {})
    },
  }

  it.each(Object.entries(broken))('that %s breaks no lock', async (_name, around) => {
    const { time, locks } = world()
    const errors: unknown[] = []
    locks.on('error', ({ error }) => errors.push((error.cause as Error).message))
    locks.trace({
      acquiring: (_keys, run) => around(run) as never,
      holding: (_lease, run) => around(run) as never,
    })
    let bodies = 0
    const mine = track(locks.using('k', async () => (bodies += 1)))
    await time.settle()
    expect(mine).toMatchObject({ value: 1, settled: true })
    const failing = track(locks.using('k', () => Promise.reject(new Error('body'))))
    await time.settle()
    expect(failing.error).toMatchObject({ message: 'body' })
    expect(locks.stats()).toMatchObject({ requests: 2, granted: 2, released: 2, held: 0 })
    // What the tracer passed on is the error of the body and not its own.
    expect(new Set(errors)).toEqual(new Set(/throws|rejects/.test(_name) ? ['tracer'] : []))
    await locks.close()
  })
})
