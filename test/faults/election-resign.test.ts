import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { freshPrefix } from '../servers/shared-redis.ts'
import type { ElectionAction, Places } from '../support/election-child.ts'
import { atEnd, atLast, until } from '../support/stage.ts'
import { TestProcess } from '../support/test-process.ts'

const CHILD = fileURLToPath(new URL('../support/election-child.ts', import.meta.url))
/** A poll comes after half of it, at the soonest. */
const NEVER = '600s'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-election-'))
atLast(() => rmSync(folder, { recursive: true, force: true }))
const redis = freshPrefix()
const places: Places = {
  SQLite: `sqlite:${join(folder, 'locks.db')}`,
  PostgreSQL: await freshDatabase(),
  Redis: { urls: [redis.url], driver: 'ioredis', prefix: redis.prefix },
}

it.each(Object.entries(places))(
  'on %s a leader that resigns is followed long before a poll, or the end of its lease',
  async (store, where) => {
    const stand = async (name: string): Promise<TestProcess<ElectionAction>> => {
      const child = await TestProcess.fork<ElectionAction>(CHILD)
      atEnd(() => child.end())
      // Nor is the one that resigned there again before the other has heard of it.
      const terms = { lease: NEVER, poll: NEVER, pause: NEVER }
      await child.call('stand', { [store]: where }, { name, ...terms, folder })
      return child
    }
    const diary = (): string[] =>
      readFileSync(join(folder, store), { encoding: 'utf8', flag: 'a+' }).split('\n')
    const begun = (name: string): boolean => diary().some((line) => line.startsWith(`begin ${name}`))
    const one = await stand('one')
    await until('the first leader', () => begun('one'))
    await stand('two')
    await until('that the other stands, too', () => one.call('isWanted'))
    expect(begun('two')).toBe(false)
    await one.call('resign')
    await until('the second leader', () => begun('two'))
  },
)
