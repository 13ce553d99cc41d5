import { describe, expect, it } from 'vitest'
import { leading } from './support/leading.ts'
import { track, world } from './support/world.ts'

describe('an election and what is around it', () => {
  it('a listener of elected that stops it: the body does not begin, and stop ends', async () => {
    const { time, locks } = world()
    const { terms, body } = leading()
    const election = locks.elect('boss', body)
    let stopped: { settled: boolean } | null = null
    locks.on('elected', () => (stopped ??= track(election.stop())))
    await time.advance(10_000)
    expect(terms).toEqual([])
    expect(stopped).toMatchObject({ settled: true })
    await locks.close()
  })

  it('the body of an election inside the body of another may resign that one, and waits for nothing', async () => {
    const { time, locks } = world()
    const done: string[] = []
    const outer = locks.elect('outer', async (term) => {
      const inner = locks.elect('inner', async () => {
        await outer.resign()
        done.push('inner')
      })
      await new Promise<void>((resolve) => term.signal.addEventListener('abort', () => resolve()))
      await inner.stop()
      done.push('outer')
    })
    await time.advance(500)
    expect(done).toEqual(['inner', 'outer'])
    await locks.close()
  })

  it('a shortest hold that a pattern asks for does not hold up the next leader', async () => {
    const { time, locks, other } = world({ keys: { '*': { atLeast: '20s' } } })
    const two = other()
    const election = locks.elect('boss', leading().body)
    await time.settle()
    const next = two.elect('boss', leading().body)
    await time.settle()
    await election.stop()
    await time.advance(100)
    expect(next.isLeader).toBe(true)
    await Promise.all([locks.close(), two.close()])
  })

  it('defaults by key that do not fit its lease do not end it', async () => {
    const { time, locks } = world()
    const { terms, body } = leading()
    const election = locks.elect('boss', body, { lease: '5s' })
    await time.settle()
    locks.configure({ keys: { '*': { atLeast: '10s' } } })
    await election.resign()
    await time.advance(10_000)
    expect(terms.length).toBe(2)
    await locks.close()
  })
})
