import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { freshPrefix } from '../servers/shared-redis.ts'
import type { ElectionAction, Places } from '../support/election-child.ts'
import { atLast, until } from '../support/stage.ts'
import { TestProcess } from '../support/test-process.ts'

const CHILD = fileURLToPath(new URL('../support/election-child.ts', import.meta.url))
/** Long enough for a busy machine to renew it, and most of what this waits for. */
const LEASE = '2.5s'
const PAUSE = '200ms'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-election-'))
atLast(() => rmSync(folder, { recursive: true, force: true }))
const redis = freshPrefix()
const places: Places = {
  SQLite: `sqlite:${join(folder, 'locks.db')}`,
  PostgreSQL: await freshDatabase(),
  Redis: { urls: [redis.url], driver: 'ioredis', prefix: redis.prefix },
}
const stores = Object.keys(places)

const [one, two, three] = await Promise.all([1, 2, 3].map(() => TestProcess.fork<ElectionAction>(CHILD)))
if (!one || !two || !three) throw new Error('there are three')
atLast(() => Promise.all([one, two, three].map((child) => child.end())))

function diaryOf(store: string): string[] {
  try {
    return readFileSync(join(folder, store), 'utf8').split('\n').filter(Boolean)
  } catch {
    return []
  }
}

/** Until it is in all the diaries that many times. */
async function noted(what: string, times = 1): Promise<void> {
  const count = (store: string): number => diaryOf(store).filter((line) => line.startsWith(what)).length
  await until(`${what}, ${times} times`, () => stores.every((store) => count(store) === times))
}

// On all stores at the same time: what it does most is to wait for leases to run out.
const story = (async () => {
  await one.call('stand', places, { name: 'one', lease: LEASE, pause: PAUSE, folder })
  await noted('begin one')
  await two.call('stand', places, { name: 'two', lease: LEASE, pause: PAUSE, folder })
  one.signal('SIGKILL')
  await noted('begin two')
  await three.call('stand', places, { name: 'three', lease: LEASE, pause: PAUSE, folder })
  two.signal('SIGSTOP')
  await noted('begin three')
  two.signal('SIGCONT')
  await noted('told two')
  await until('that it stands again', () => three.call('isWanted'))
  await three.call('resign')
  await noted('begin two', 2)
  return three.call<string[]>('leaders')
})()
story.catch(() => {})

it.each(stores)(
  'G2 G3 on %s a leader that is killed, stands still, or resigns is followed, with numbers and tokens that rise',
  async (store) => {
    expect(await story).toEqual(['two', 'two', 'two'])
    const diary = diaryOf(store)
    const begun = diary.flatMap((line) => {
      const [, name, number = '', token = ''] = /^begin (\w+) (\d+) (\d+)$/.exec(line) ?? []
      return name ? [{ name, number: Number(number), token: BigInt(token) }] : []
    })
    expect(begun.map(({ name }) => name)).toEqual(['one', 'two', 'three', 'two'])
    for (const [i, term] of begun.slice(1).entries()) {
      expect(term.number).toBeGreaterThan(begun[i]?.number ?? 0)
      expect(term.token).toBeGreaterThan(begun[i]?.token ?? 0n)
    }
    // The one that stood still heard of it late; the one that resigned, before the other was elected.
    const told = diary.map((line) => line.split(' ').slice(0, 2).join(' '))
    expect(told.slice(2)).toEqual(['begin three', 'told two', 'told three', 'begin two'])
  },
)
