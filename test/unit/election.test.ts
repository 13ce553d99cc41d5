import { describe, expect, it } from 'vitest'
import type { Term } from '../../src/election.ts'
import { currentLease } from '../../src/section.ts'
import { leading } from './support/leading.ts'
import { track, world } from './support/world.ts'

describe('a term', () => {
  it('begins at once where nobody leads, with a number, a token and the name', async () => {
    const { time, locks } = world()
    const { terms, body } = leading()
    const seen: unknown[] = []
    locks.on('elected', (event) => seen.push(event))
    const election = locks.elect('boss', body)
    expect(election.isLeader).toBe(false)
    await time.settle()
    const [term] = terms
    const grant = (await locks.inspect('boss'))?.grant
    expect(election.isLeader).toBe(true)
    expect(term).toMatchObject({ name: 'boss', number: grant })
    expect(term?.token).toBe(BigInt(grant ?? 0) * 1024n)
    expect(() => term?.assertLeader()).not.toThrow()
    expect(seen).toEqual([{ name: 'boss', number: term?.number, token: term?.token }])
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('is one at a time, by whichever client, with numbers and tokens that rise', async () => {
    const { time, locks, other } = world()
    const all: Term[] = []
    let running = 0
    let most = 0
    const body = async (term: Term): Promise<void> => {
      all.push(term)
      most = Math.max(most, (running += 1))
      await new Promise((resolve) => time.setTimer(100, () => resolve(null)))
      running -= 1
    }
    const clients = [locks, other(), other(), other()]
    for (const client of clients) client.elect('boss', body)
    await time.advance(20_000)
    expect(all.length).toBeGreaterThan(20)
    expect(most).toBe(1)
    for (const [i, term] of all.slice(1).entries()) {
      expect(term.number).toBeGreaterThan(all[i]?.number ?? 0)
      expect(term.token).toBeGreaterThan(all[i]?.token ?? 0n)
    }
    const closed = clients.map((client) => track(client.close()))
    await time.advance(1000)
    expect(closed.every(({ settled }) => settled)).toBe(true)
    expect(time.timers).toBe(0)
  })

  it('is a section: the body enters the key again, with the token of the term', async () => {
    const { time, locks } = world()
    let inner: bigint | undefined
    let current: unknown
    let token: bigint | undefined
    locks.elect('boss', async (term) => {
      token = term.token
      current = currentLease()?.key
      await locks.using('boss', { wait: 0 }, (lease) => (inner = lease.token))
    })
    await time.settle()
    expect(inner).toBe(token)
    expect(current).toBe('boss')
    await locks.close()
  })

  it('is not part of the section in which the election was started', async () => {
    const { time, locks, store } = world()
    const { terms, body } = leading()
    await locks.using('boss', async () => {
      locks.elect('boss', body)
      await time.settle()
      expect(terms).toHaveLength(0)
    })
    await time.advance(1000)
    expect(terms).toHaveLength(1)
    expect(await store.heldKeys()).toEqual(['boss'])
    await locks.close()
  })

  it('keeps the process alive, as waiting for one does', async () => {
    const { time, locks } = world()
    const election = locks.elect('boss', leading().body)
    await time.settle()
    expect([election.isLeader, time.awake]).toEqual([true, 1])
    await election.stop()
    expect(time.awake).toBe(0)
    await locks.close()
  })

  it('raises its token in place with rotateToken, and keeps its number', async () => {
    const { time, locks } = world()
    const { terms, body } = leading()
    locks.elect('boss', body, { lease: '3s', rotateToken: '1s' })
    await time.settle()
    const [term] = terms
    const first = term?.token ?? 0n
    await time.advance(5000)
    expect(term?.token).toBeGreaterThan(first)
    expect(term?.number).toBe(Number(first / 1024n))
    await locks.close()
  })

  it('never has the number of the term before, also if the key went round inside the process', async () => {
    const { time, locks } = world()
    const numbers: number[] = []
    const tasks: Promise<unknown>[] = []
    // Gets the key by hand-off when the term ends, and hands it on to the election, which waits again.
    locks.on('elected', () => {
      tasks.push(locks.using('boss', () => new Promise((resolve) => time.setTimer(20, () => resolve(null)))))
    })
    const election = locks.elect('boss', (term) => void numbers.push(term.number), { pause: 10 })
    await time.advance(2000)
    expect(numbers.length).toBeGreaterThan(2)
    expect(numbers).toEqual([...new Set(numbers)])
    const all = track(Promise.all([election.stop(), ...tasks]))
    await time.advance(1000)
    expect(all).toMatchObject({ settled: true, value: expect.anything() })
    await locks.close()
    expect(time.timers).toBe(0)
  })
})

describe('when the body ends', () => {
  it('by returning: steps down, pauses with jitter, stands again', async () => {
    const { time, locks, store } = world()
    const ended: unknown[] = []
    let signal: AbortSignal | undefined
    locks.on('term-ended', ({ why, error }) => ended.push([why, error]))
    let terms = 0
    const election = locks.elect('boss', (term) => {
      signal = term.signal
      terms += 1
    })
    await time.settle()
    expect([terms, election.isLeader, await store.heldKeys()]).toEqual([1, false, []])
    expect(ended).toEqual([['returned', undefined]])
    // What the body has left behind hears of it, too.
    expect(signal?.reason).toMatchObject({ code: 'LOCK_NOT_HELD' })
    // 1 s and half of a half, since chance is 0.5 here.
    await time.advance(1249)
    expect(terms).toBe(1)
    await time.advance(1)
    expect(terms).toBe(2)
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('broken')
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
  ])('one that %s is told, and backs off: doubling, to half a minute', async (_how, body) => {
    const { time, locks, store } = world()
    const ended: unknown[] = []
    const begun: number[] = []
    locks.on('elected', () => begun.push(time.now()))
    locks.on('term-ended', ({ why, error }) => ended.push([why, error]))
    locks.elect('boss', body)
    await time.settle()
    expect(ended).toEqual([['failed', new Error('broken')]])
    expect(await store.heldKeys()).toEqual([])
    await time.advance(200_000)
    const pauses = begun.slice(1).map((at, i) => (at - (begun[i] ?? 0)) / 1.25)
    expect(pauses.slice(0, 7)).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('in an error after a term that lasted, it does not back off further', async () => {
    const { time, locks } = world({ lease: '2s' })
    const begun: number[] = []
    locks.on('elected', () => begun.push(time.now()))
    const lasting = [0, 0, 0, 5000, 0, 0]
    locks.elect('boss', async () => {
      const ms = lasting.shift() ?? 0
      if (ms > 0) await new Promise((resolve) => time.setTimer(ms, () => resolve(null)))
      throw new Error('broken')
    })
    await time.advance(30_000)
    const pauses = begun.slice(1).map((at, i) => at - (begun[i] ?? 0))
    expect(pauses.slice(0, 5)).toEqual([1250, 2500, 5000, 5000 + 1250, 2500])
    await locks.close()
  })

  it('by returning, it has not failed: the next error starts from the pause again', async () => {
    const { time, locks } = world()
    const begun: number[] = []
    locks.on('elected', () => begun.push(time.now()))
    const failing = [true, true, false, true]
    locks.elect('boss', () => {
      if (failing.shift()) throw new Error('broken')
    })
    await time.advance(10_000)
    const pauses = begun.slice(1).map((at, i) => at - (begun[i] ?? 0))
    expect(pauses.slice(0, 4)).toEqual([1250, 2500, 1250, 1250])
    await locks.close()
  })

  it('in an error, without a listener: nothing is unhandled, and a warning is logged', async () => {
    const lines: string[] = []
    const { time, locks } = world({ logger: { warn: (line) => lines.push(line) } })
    locks.elect('boss', () => Promise.reject(new Error('broken')))
    await time.settle()
    expect(lines).toEqual([expect.stringMatching(/leads "boss" no more .* failed.*: broken/)])
    await locks.close()
  })
})
