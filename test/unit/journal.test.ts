import { afterEach, describe, expect, it, vi } from 'vitest'
import { type LockEvent, LockError } from '../../src/index.ts'
import { track, world } from './support/world.ts'

afterEach(() => vi.restoreAllMocks())

function recorder(): { lines: string[]; logger: Record<'debug' | 'info' | 'warn', (line: string) => void> } {
  const lines: string[] = []
  const at = (level: string) => (line: string) => void lines.push(`${level} ${line}`)
  return { lines, logger: { debug: at('debug'), info: at('info'), warn: at('warn') } }
}

describe('events', () => {
  it('tell the life of a lock', async () => {
    const { time, locks, other } = world({ lease: '2s', wait: '1s' })
    const two = other()
    const seen: unknown[] = []
    const names: LockEvent[] = ['granted', 'released', 'lost', 'timeout', 'conflict', 'evicted']
    for (const name of names) locks.on(name, (event) => seen.push([name, { ...event, token: 0n }]))
    const theirs = await two.acquire('k', { lease: '10s' })
    void track(locks.acquire('k'))
    await time.advance(1_000)
    await theirs.release()
    await time.advance(100)
    const mine = await locks.acquire('k')
    await time.advance(50)
    await mine.release()
    await two.acquire('k')
    await locks.forceRelease('k')
    expect(seen).toMatchObject([
      ['conflict', { key: 'k', holder: { service: 'two' } }],
      ['timeout', { key: 'k', waitedMs: 1_000, holder: { service: 'two' } }],
      ['granted', { key: 'k', takenOver: false, previous: null, handedOff: false, waitedMs: 0 }],
      ['released', { key: 'k', heldMs: 50 }],
      ['evicted', { key: 'k', record: { holder: { service: 'two' } } }],
    ])
    await locks.close()
    await two.close()
  })

  it('a listener that throws or rejects breaks nothing and is reported as an error', async () => {
    const { time, locks } = world()
    const errors: unknown[] = []
    locks.on('granted', () => {
      throw new Error('sync')
    })
    locks.on('granted', (async () => Promise.reject(new Error('async'))) as never)
    locks.on('error', ({ error }) => {
      errors.push((error.cause as Error).message)
      throw new Error('worse')
    })
    await expect(locks.using('k', () => 1)).resolves.toBe(1)
    await time.settle()
    expect(errors).toEqual(['sync', 'async'])
    await locks.close()
  })

  it('a listener added by a listener hears of the next event', async () => {
    const { locks } = world()
    let calls = 0
    const more = (): void => {
      calls += 1
      locks.on('granted', more)
    }
    locks.on('granted', more)
    await locks.using('k', () => {})
    expect(calls).toBe(1)
    await locks.using('k', () => {})
    expect(calls).toBe(3)
    await locks.close()
  })

  it('off stops one listener, once, and not its twin', async () => {
    const { locks } = world()
    let calls = 0
    const listener = (): void => void (calls += 1)
    const off = locks.on('granted', listener)
    locks.on('granted', listener)
    off()
    off()
    await locks.using('k', () => {})
    expect(calls).toBe(1)
    await locks.close()
  })
})

describe('logging', () => {
  it('says whether a key was free or taken over, who holds it and until when, and why it was lost', async () => {
    const { lines, logger } = recorder()
    const { time, store, locks, other } = world({ logger, lease: '2s' })
    const two = other()
    await two.acquire('k', { lease: '1s', renew: false, context: 'import' })
    expect(await locks.tryAcquire('k')).toBeNull()
    await time.advance(1_001)
    await locks.acquire('k')
    await locks.using('free', () => {})
    store.mood.renew = 'fail'
    await time.advance(2_000)
    const log = lines.join('\n')
    expect(log).toMatch(/debug holdfast: "k" is held by two two \(import\), for at most 1000 ms/)
    expect(log).toMatch(
      /info holdfast: took "k" over from two two \(import\), whose lease had run out; token \d+/,
    )
    expect(log).toMatch(/debug holdfast: got "free", which was free/)
    expect(log).toMatch(
      /warn holdfast: lost "k" after 1900 ms: no renewal was confirmed in time, .*; the last attempt failed: /,
    )
    expect(log).not.toContain('undefined')
    await locks.close()
    await two.close()
  })

  it('by default warns of a loss and of a store that is down, once per incident, and of nothing else', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const others = (['log', 'info', 'debug', 'error'] as const).map((level) => vi.spyOn(console, level))
    const { time, store, locks } = world({ logger: undefined as never, lease: '2s' })
    const { createLocks } = await import('../../src/locks.ts')
    await locks.close()
    const client = createLocks(store, { environment: time, lease: '2s' })
    await client.acquire('a')
    await client.acquire('b')
    Object.assign(store.mood, { renew: 'fail', acquire: 'fail' })
    void track(client.acquire('c', { wait: '1s' }))
    await time.advance(10_000)
    expect(warn.mock.calls.map(([line]) => String(line).replace(/ after .*/, ''))).toEqual([
      'holdfast: the trial store failed: connection refused',
      'holdfast: lost "a"',
      'holdfast: lost "b"',
    ])
    for (const level of others) expect(level).not.toHaveBeenCalled()
    await client.close()
  })

  it('names a listener that throws, once, and one of error as well', async () => {
    const { lines, logger } = recorder()
    const { time, locks } = world({ logger: { warn: logger.warn } })
    for (const fault of ['one', 'two']) {
      locks.on('granted', () => {
        throw new Error(fault)
      })
    }
    locks.on('error', (async () => Promise.reject(new TypeError('three'))) as never)
    for (let turn = 0; turn < 3; turn += 1) await locks.using('k', () => {})
    await time.settle()
    expect(lines).toEqual([
      "warn holdfast: a listener of 'granted' threw: one",
      "warn holdfast: a listener of 'granted' threw: two",
      "warn holdfast: a listener of 'error' threw: three",
    ])
    await locks.close()
  })

  it('says what a driver said once, also where the store says it in its own words', async () => {
    const { lines, logger } = recorder()
    const { time, store, locks } = world({ logger })
    const refused = new Error('connect ECONNREFUSED ::1:1')
    for (const message of ['nothing listens there (connect ECONNREFUSED ::1:1)', 'nothing listens there']) {
      store.inner.acquire = () =>
        Promise.reject(new LockError('STORE_UNAVAILABLE', message, { cause: refused }))
      const trying = track(locks.tryAcquire('k'))
      await time.settle()
      expect(trying.settled).toBe(true)
      store.inner.acquire = async (asks) => asks.map(() => ({ granted: true, grant: 1, previous: null }))
      await time.advance(20_000)
      await locks.tryAcquire('other')
    }
    expect(lines.filter((line) => line.includes('listens'))).toEqual([
      'warn holdfast: nothing listens there (connect ECONNREFUSED ::1:1)',
      'warn holdfast: nothing listens there: connect ECONNREFUSED ::1:1',
    ])
    await locks.close()
  })

  it('a logger that throws breaks nothing', async () => {
    const logger = {
      debug() {
        throw new Error('disk full')
      },
    }
    const { locks } = world({ logger })
    await expect(locks.using('k', () => 1)).resolves.toBe(1)
    await locks.close()
  })
})

describe('stats', () => {
  it('every request ends in exactly one counter', async () => {
    const { time, store, locks, other } = world({ wait: '1s' })
    const two = other()
    await two.acquire('busy')
    const outcomes = [
      locks.using('a', () => locks.using('a', () => {})),
      locks.using('a', () => Promise.all([locks.using('a', () => {}), locks.using('a', () => {})])),
      locks.acquire('busy'),
      locks.tryAcquire('busy'),
      locks.acquire('busy', { signal: AbortSignal.abort() }),
      locks.using('d', () => locks.using('d', { reentrant: false }, () => {})),
    ]
    const settled = Promise.allSettled(outcomes)
    await time.advance(1_000)
    await settled
    store.mood.acquire = 'fail'
    const failing = track(locks.tryAcquire('c'))
    await time.advance(100)
    expect(failing.settled).toBe(true)
    const { requests, granted, timedOut, aborted, failed, held, waiting, wait, hold } = locks.stats()
    expect({ requests, granted, timedOut, aborted, failed, held, waiting }).toEqual({
      requests: 11,
      granted: 6,
      timedOut: 2,
      aborted: 1,
      failed: 2,
      held: 0,
      waiting: 0,
    })
    expect([wait.count, hold.count]).toEqual([6, 3])
    store.mood.acquire = 'work'
    await locks.close()
    await two.close()
  })
})

it('a context of another service is one line in a log and in a message, whatever is in it', async () => {
  const { lines, logger } = recorder()
  const { locks, other } = world({ logger })
  const two = other()
  await two.acquire('k', { context: 'x\nholdfast: freed "pay" by force\u{1b}[2J\u2028' })
  const denied = await locks.acquire('k', { wait: 0 }).catch((error: unknown) => String(error))
  await locks.forceRelease('k')
  // oxlint-disable-next-line no-control-regex
  for (const line of [denied, ...lines]) expect(line).not.toMatch(/[\u0000-\u001f\u2028]/)
  expect(lines.join('\n')).toContain('(x holdfast: freed "pay" by force [2J ), grant')
  await locks.close()
  await two.close()
})
