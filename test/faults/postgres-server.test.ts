import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { openPostgresJs } from '../../src/stores/postgres/own-client.ts'
import { startPostgres } from '../servers/postgres.ts'
import {
  atEnd,
  atLast,
  failureOf,
  failureWithin,
  locksOn,
  observe,
  poolOn,
  storeOn,
  until,
} from '../support/postgres-stage.ts'
import { Told } from '../support/told.ts'

const server = await startPostgres()
atLast(() => server.stop())
const query = observe(server.url)

/** When the lease ends by the server's clock, in ms since 1970; it is also the clock of this machine. */
async function endOf(key: string): Promise<number> {
  const [row] = await query(
    'select extract(epoch from expires_at) * 1000 as ms from holdfast_locks where key = $1',
    key,
  )
  return Number(row?.ms)
}

describe.each(['restart -m immediate', 'kill -9'])('PostgreSQL after %s', (how) => {
  it('G3 still has what it granted: the lease goes on, nobody else gets in, and tokens rise', async () => {
    const [locks, others] = [locksOn(server.url, { lease: '20s' }), locksOn(server.url)]
    const key = `kept after ${how}`
    const lease = await locks.acquire(key)
    // Granted just before the crash: what is not durable would be gone.
    const leases = await Promise.all([1, 2, 3].map((i) => locks.acquire(`${key} ${i}`)))
    if (how === 'kill -9') {
      await server.kill()
      await server.start()
    } else {
      await server.restart('immediate')
    }
    for (const each of [lease, ...leases]) {
      const record = await others.inspect(each.key)
      expect(BigInt(record?.grant ?? 0) * 1024n).toBe(each.token)
    }
    expect(await others.tryAcquire(key)).toBeNull()
    // Not by a renewal that is due: now.
    await lease.extend()
    expect(lease.held).toBe(true)
    expect(await lease.release()).toBe(true)
    const next = await others.acquire(key)
    expect(next.token).toBeGreaterThan(lease.token)
  })
})

describe('PostgreSQL that is restarted while locks are held', () => {
  it('G7 renewals go on by themselves when it is back, and waiters get their turn', async () => {
    const [locks, others] = [locksOn(server.url, { lease: '20s' }), locksOn(server.url)]
    const lease = await locks.acquire('renewed')
    const turn = others.acquire('renewed', { wait: '50s' })
    await until('the waiter', async () => (await locks.inspect('renewed'))?.wanted)
    await server.restart('immediate')
    const { renewals } = locks.stats()
    await until('a renewal', () => locks.stats().renewals > renewals)
    expect(lease.held).toBe(true)
    expect(lease.signal.aborted).toBe(false)
    await lease.release()
    expect((await turn).token).toBeGreaterThan(lease.token)
  })
})

it('G7 a URL opened with postgres.js is of use as soon as PostgreSQL is back, however often it failed before', async () => {
  const database = openPostgresJs(postgres, server.url, {})
  atEnd(() => database.close())
  const ask = (): Promise<unknown> => database.run({ text: 'select $1' }, ['up'])
  const asks = (): Promise<unknown>[] => Array.from({ length: 4 }, ask)
  await Promise.all(asks())
  await server.kill()
  // After that many the driver would wait for ten seconds at least.
  for (let round = 0; round < 4; round += 1) await Promise.all(asks().map(failureOf))
  await server.start()
  expect(await ask()).toEqual([['up']])
})

describe.each(['a URL', 'a pool'])('on %s, PostgreSQL that stands still', (what) => {
  it('G2 the signal comes before the lease ends, G7 calls fail in time, and work once it goes on', async () => {
    const db = what === 'a URL' ? server.url : poolOn(server.url)
    const locks = locksOn(storeOn(db), { lease: '4s' })
    const key = `still for ${what}`
    const lease = await locks.acquire(key)
    const told = new Told(lease, 4000)
    told.cutOff((await endOf(key)) - Date.now())
    await server.pause()
    atEnd(() => server.resume())
    expect(locks.stats().renewals).toBe(0)

    // Within the wait and the limit of one call.
    const call = failureWithin(4500, locks.acquire('other', { wait: '1s' }))
    const attempt = failureWithin(4500, locks.tryAcquire('another'))
    expect(await call).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await attempt).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(
        /did not answer within|gave no connection|no answer came|cannot be reached/,
      ),
      cause: expect.any(Error),
    })
    await until('the signal', () => told.told)
    expect(told.inTime).toBe(true)
    expect(lease.held).toBe(false)
    expect(lease.signal.reason).toMatchObject({ code: 'LOCK_LOST' })

    server.resume()
    const next = await locks.acquire(key, { wait: '20s' })
    expect(next.token).toBeGreaterThan(lease.token)
    expect(await locks.tryAcquire('other')).not.toBeNull()
  })
})
