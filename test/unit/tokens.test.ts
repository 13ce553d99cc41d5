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

  // Seconds, under a lease of 60.
  it.each([1, 5, 7, 15, 19, 20, 21, 24, 25, 26, 28, 29.9, 30])(
    'rotateToken %d s: no later than that, and each renewal within a third of the lease',
    async (rotate) => {
      const { time, store, locks } = world()
      const lease = await locks.acquire('k', { lease: '60s', rotateToken: rotate * 1000 })
      const pauses = { token: [] as number[], renewal: [] as number[] }
      const last = { token: time.now(), renewal: time.now() }
      const noted = (what: keyof typeof last): void => {
        pauses[what].push((time.now() - last[what]) / 1000)
        last[what] = time.now()
      }
      let [{ token }, renewals] = [lease, 0]
      for (let i = 0; i < 3000; i += 1) {
        await time.advance(100)
        if (lease.token !== token) noted('token')
        if (store.count('renew') !== renewals) noted('renewal')
        ;[{ token }, renewals] = [lease, store.count('renew')]
      }
      expect(Math.max(...pauses.renewal)).toBeLessThanOrEqual(20.1)
      expect(Math.max(...pauses.token)).toBeLessThanOrEqual(rotate + 0.1)
      expect(Math.min(...pauses.token)).toBeGreaterThanOrEqual(rotate * 0.8 - 0.1)
      await locks.close()
    },
  )

  it('rotateToken keeps its pace though the holder extends the lease now and then', async () => {
    const { time, locks } = world()
    const lease = await locks.acquire('k', { lease: '60s', rotateToken: '30s' })
    const { token } = lease
    await time.advance(8000)
    await lease.extend()
    await time.advance(21_900)
    expect(lease.token).toBe(token)
    await time.advance(200)
    expect(lease.token).toBeGreaterThan(token)
    await locks.close()
  })
})
