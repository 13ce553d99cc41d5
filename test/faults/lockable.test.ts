import { describe, expect, it } from 'vitest'
import type { LockError } from '../../src/errors.ts'
import type { Locks } from '../../src/locks.ts'
import type { Store } from '../../src/store.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { freshPrefix } from '../servers/shared-redis.ts'
import { databaseAt, freshPath } from '../support/sqlite-stage.ts'
import { locksOn, proxyTo } from '../support/stage.ts'

interface Site {
  readonly open: () => Store
  readonly down: () => void
  readonly up: () => unknown
}

const sites: readonly (readonly [name: string, prepare: () => Promise<Site>])[] = [
  [
    'SQLite',
    async () => {
      const path = freshPath()
      const beside = databaseAt(path)
      return {
        open: () => sqliteStore(path),
        // Another program does not let go of the file.
        down: () => beside.exec('begin exclusive'),
        up: () => beside.exec('rollback'),
      }
    },
  ],
  ['PostgreSQL', async () => behindNetwork(await freshDatabase(), (url) => postgresStore(url))],
  [
    'Redis',
    async () => {
      const { url, prefix } = freshPrefix()
      return behindNetwork(url, (there) => redisStore(there, { prefix }))
    },
  ],
]

async function behindNetwork(server: string, open: (url: string) => Store): Promise<Site> {
  const { proxy, url } = await proxyTo(server)
  return {
    open: () => open(url),
    down: () => {
      proxy.refuse()
      proxy.cut()
    },
    up: () => proxy.accept(),
  }
}

/** What became of a call with each strategy, at the same time. */
async function outcomes(locks: Locks, on: 'contention' | 'unavailable'): Promise<unknown[]> {
  const fallback = (error: LockError, id: number): string => `${error.code} ${id}`
  const run = async (_id: number): Promise<string> => 'ran'
  const other = on === 'contention' ? 'unavailable' : 'contention'
  const calls = [
    locks.lockable(run, { key: 'k' }),
    locks.lockable(run, { key: 'k', onFail: 'null' }),
    locks.lockable(run, { key: 'k', onFail: { fallback }, on: [on] }),
    locks.lockable(run, { key: 'k', onFail: { retry: 1, backoff: 1 } }),
    locks.lockable(run, { key: 'k', onFail: 'null', on: [other] }),
  ]
  const ends = await Promise.allSettled(calls.map((call) => call(7)))
  return ends.map((end) => (end.status === 'fulfilled' ? end.value : (end.reason as LockError).code))
}

describe.each(sites)('lockable on %s', (_name, prepare) => {
  it('each strategy, while another has the key', async () => {
    const { open } = await prepare()
    const holder = await locksOn(open()).acquire('k')
    // One try, which ends with the store's answer, however long that takes.
    const locks = locksOn(open(), { wait: 0 })
    const code = 'LOCK_ACQUIRE_TIMEOUT'
    expect(await outcomes(locks, 'contention')).toEqual([code, null, `${code} 7`, code, code])
    const patient = locks.lockable(async () => 'ran', {
      key: 'k',
      wait: 0,
      onFail: { retry: 50, backoff: 10 },
    })
    const call = patient()
    await holder.release()
    await expect(call).resolves.toBe('ran')
  })

  it('each strategy, while the store is down; retry goes on when it is back', async () => {
    const { open, down, up } = await prepare()
    const locks = locksOn(open(), { wait: '300ms' })
    await expect(locks.lockable(() => 'ran', { key: 'k', wait: '20s' })()).resolves.toBe('ran')
    down()
    const patient = locks.lockable(async () => 'ran', { key: 'k', onFail: { retry: 100, limit: '30s' } })
    const call = patient()
    const code = 'STORE_UNAVAILABLE'
    expect(await outcomes(locks, 'unavailable')).toEqual([code, null, `${code} 7`, code, code])
    await up()
    await expect(call).resolves.toBe('ran')
  })
})
