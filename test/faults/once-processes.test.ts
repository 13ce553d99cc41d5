import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { freshPrefix } from '../servers/shared-redis.ts'
import type { RedisStoreAddress } from '../support/redis-client.ts'
import { atEnd, atLast, until } from '../support/stage.ts'
import { TestProcess } from '../support/test-process.ts'
import type { OnceAction, Work } from './fixtures/once-runner.ts'

const RUNNER = fileURLToPath(new URL('./fixtures/once-runner.ts', import.meta.url))
// Starting a process takes most of a second on a busy machine.
const PATIENT = { timeout: 120_000 }

// They serve all tests; each of the stores has one killed.
let runners = await Promise.all(Array.from({ length: 12 }, () => TestProcess.fork<OnceAction>(RUNNER)))
atLast(() => Promise.all(runners.map((runner) => runner.end())))

interface Site {
  /** Calls `once` in so many processes at the same time. */
  readonly calls: readonly Promise<string>[]
  /** What was written down so far: `begin`, `end` or `lost`, and by whom. */
  readonly diary: () => string[]
  /** Who began last, after so many lines in all. */
  readonly beginner: (lines: number) => Promise<number>
}

const stores: readonly (readonly [
  name: string,
  where: (folder: string) => Promise<string | RedisStoreAddress>,
])[] = [
  ['SQLite', async (folder) => `sqlite:${join(folder, 'locks.db')}`],
  ['PostgreSQL', freshDatabase],
  [
    'Redis',
    async () => {
      const { url, prefix } = freshPrefix()
      return { urls: [url], driver: 'ioredis', prefix }
    },
  ],
]

async function site(
  count: number,
  where: (typeof stores)[number][1],
  how: Pick<Work, 'lease' | 'early'>,
): Promise<Site> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-once-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  atEnd(() => Promise.allSettled(runners.map((runner) => runner.call('close'))))
  const address = await where(folder)
  const [mark, file] = [join(folder, 'mark'), join(folder, 'diary')]
  const diary = (): string[] =>
    existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  const calls = runners.slice(0, count).map((runner, i) => {
    const call = runner.call<string>('once', address, { name: String(i), mark, diary: file, ...how })
    // It may fail long before the test looks.
    call.catch(() => {})
    return call
  })
  return {
    calls,
    diary,
    beginner: async (lines) => {
      await until(`${lines} lines`, () => diary().length >= lines)
      const [what, name] = diary().at(-1)?.split(' ') ?? []
      expect(what).toBe('begin')
      return Number(name)
    },
  }
}

describe.each(stores)('once in several processes, on %s', (_name, where) => {
  it('of ten that start at once exactly one runs, and one killed half-way is followed', PATIENT, async () => {
    const { calls, diary, beginner } = await site(10, where, { lease: '4s', early: false })
    const first = await beginner(1)
    const killed = runners[first]
    killed?.signal('SIGKILL')
    const second = await beginner(2)
    expect(second).not.toBe(first)
    await runners[second]?.call('end')
    runners = runners.filter((runner) => runner !== killed)
    const outcomes = await Promise.allSettled(calls)
    expect(diary()).toEqual([`begin ${first}`, `begin ${second}`, `end ${second}`])
    for (const [i, outcome] of outcomes.entries()) {
      if (i === first) expect(outcome.status).toBe('rejected')
      else expect(outcome).toMatchObject({ value: i === second ? 'ran' : 'done' })
    }
  })

  it('those who wait return at the mark, while the runner still holds the lock', PATIENT, async () => {
    const { calls, diary, beginner } = await site(3, where, { lease: '30s', early: true })
    const first = await beginner(1)
    const others = calls.filter((_, i) => i !== first)
    await expect(Promise.all(others)).resolves.toEqual(['done', 'done'])
    expect(diary()).toEqual([`begin ${first}`])
    await runners[first]?.call('end')
    await expect(calls[first]).resolves.toBe('ran')
  })

  it(
    'G2 one that stood still beyond its lease hears of it, and rejects with LOCK_LOST',
    PATIENT,
    async () => {
      const { calls, diary, beginner } = await site(2, where, { lease: '4s', early: false })
      const first = await beginner(1)
      runners[first]?.signal('SIGSTOP')
      const second = await beginner(2)
      expect(second).not.toBe(first)
      runners[first]?.signal('SIGCONT')
      await until('word of the loss', () => diary().includes(`lost ${first}`))
      await expect(calls[first]).rejects.toMatchObject({ code: 'LOCK_LOST' })
      await runners[second]?.call('end')
      await expect(calls[second]).resolves.toBe('ran')
      expect(diary()).toEqual([`begin ${first}`, `begin ${second}`, `lost ${first}`, `end ${second}`])
    },
  )
})
