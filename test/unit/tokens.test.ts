import { describe, expect, it } from 'vitest'
import { world } from './support/world.ts'

describe('G3 tokens rise', () => {
  it('G3 with each hand-off inside a process, and re-entry keeps the token', async () => {
    const { store, locks } = world()
    const tokens: bigint[] = []
    await Promise.all(
      [1, 2, 3, 4].map(() =>
        locks.using('k', async (lease) => {
          tokens.push(lease.token)
          await locks.using('k', (inner) => expect(inner.token).toBe(lease.token))
        }),
      ),
    )
    expect(store.count('acquire')).toBe(1)
    expect(tokens.every((token, i) => i === 0 || token > tokens[i - 1]!)).toBe(true)
    await locks.close()
  })

  it('G3 a finished lease keeps the token it had', async () => {
    const { locks } = world()
    const first = await locks.acquire('k')
    const { token } = first
    const waiting = locks.acquire('k')
    await first.release()
    expect((await waiting).token).toBe(token + 1n)
    expect(first.token).toBe(token)
    expect(first.tokenFor('k')).toBe(token)
    await locks.close()
  })

  it('G3 across release, expiry and force, in two processes', async () => {
    const { time, locks, other } = world({ lease: '1s' })
    const two = other({ lease: '1s' })
    const tokens: bigint[] = []
    for (const how of ['release', 'expire', 'force', 'release'] as const) {
      for (const client of [locks, two]) {
        const lease = await client.acquire('k', { renew: false })
        tokens.push(lease.token)
        if (how === 'release') await lease.release()
        else if (how === 'force') await client.forceRelease('k')
        else await time.advance(1_001)
      }
    }
    expect(tokens.every((token, i) => i === 0 || token > tokens[i - 1]!)).toBe(true)
    await locks.close()
    await two.close()
  })

  it('G3 the hand-off index never overflows into the next grant', async () => {
    const { store, locks } = world()
    const tokens: bigint[] = []
    await Promise.all(
      Array.from({ length: 3_000 }, () => locks.using('k', ({ token }) => tokens.push(token))),
    )
    expect(tokens.every((token, i) => i === 0 || token > tokens[i - 1]!)).toBe(true)
    expect(store.count('acquire')).toBe(3)
    await locks.close()
  })

  it('rotateToken raises the token at its pace while the lease goes on', async () => {
    const { time, store, locks } = world()
    const lease = await locks.acquire('k', { lease: '60s', rotateToken: '20s' })
    const seen = [lease.token]
    for (let i = 0; i < 6; i += 1) {
      await time.advance(10_000)
      if (lease.token !== seen.at(-1)) seen.push(lease.token)
    }
    expect(seen.length).toBe(4)
    expect(seen.every((token, i) => i === 0 || token > seen[i - 1]!)).toBe(true)
    expect(store.count('acquire')).toBe(1)
    await lease.release()
    const next = await locks.acquire('k')
    expect(next.token > seen.at(-1)!).toBe(true)
    await locks.close()
  })
})
