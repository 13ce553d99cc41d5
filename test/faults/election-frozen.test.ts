import { describe, expect, it } from 'vitest'
import type { Election } from '../../src/election.ts'
import type { Locks } from '../../src/locks.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import type { Store } from '../../src/store.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { freshPrefix } from '../servers/shared-redis.ts'
import { locksOn, proxyTo, until } from '../support/stage.ts'

const { url: redisUrl, prefix } = freshPrefix()

const stores: readonly (readonly [name: string, url: () => Promise<string>, open: (url: string) => Store])[] =
  [
    ['PostgreSQL', freshDatabase, (url) => postgresStore(url)],
    ['Redis', async () => redisUrl, (url) => redisStore(url, { prefix })],
  ]

describe.each(stores)('a leader that %s does not answer any more', (_name, urlOf, open) => {
  it('G2 is told before another is elected, and may lead again when the server is back', async () => {
    const url = await urlOf()
    const behind = await proxyTo(url)
    const diary: string[] = []
    const stand = (locks: Locks, who: string): Election =>
      locks.elect(
        'boss',
        async ({ signal }) => {
          diary.push(`${who} leads`)
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
          diary.push(`${who} is told`)
        },
        { pause: '200ms' },
      )
    const options = { lease: '2s', callTimeout: '500ms', poll: { max: '500ms' } } as const
    const one = stand(locksOn(open(behind.url), options), 'one')
    await until('the first leader', () => one.isLeader)
    const two = stand(locksOn(open(url), options), 'two')
    behind.proxy.freeze()
    await until('the second leader', () => two.isLeader)
    expect(diary).toEqual(['one leads', 'one is told', 'two leads'])
    expect(one.isLeader).toBe(false)
    behind.proxy.thaw()
    await until('that the first stands again', async () => (await one.leader().catch(() => null)) !== null)
    await two.stop()
    await until('the first leader again', () => one.isLeader)
    expect(diary.slice(3)).toEqual(['two is told', 'one leads'])
  })
})
