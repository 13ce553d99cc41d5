import { expect, it } from 'vitest'
import { createLocks } from '../../src/locks.ts'
import type { Arena } from '../torture/arenas/arena.ts'
import openSqlite from '../torture/arenas/sqlite.ts'
import { type Entry, readHistory } from '../torture/history.ts'
import type { Strike } from '../torture/nemesis/strike.ts'
import { playRound } from '../torture/round.ts'

const ROUND = { seed: 1, ms: 12_000, workers: 2, rate: 20 }
const NOTHING: Strike = { fault: 'nothing', target: 'all', loses: false, ms: 0, begin() {}, end() {} }

interface Played {
  readonly entries: readonly Entry[]
  readonly failure: unknown
}

/** On a file of SQLite, but for what is given. */
function play(make: (arena: Arena) => Partial<Arena>): Promise<Played> {
  const openArena = async (folder: string): Promise<Arena> => {
    const arena = await openSqlite(folder)
    return { ...arena, ...make(arena) }
  }
  return playRound({ ...ROUND, openArena }, async (folder, failure) => ({
    entries: readHistory(folder),
    failure,
  }))
}

it('a round with a fault that cannot be healed fails, and what it saw is judged all the same', async () => {
  const end = (): never => {
    throw new Error('it does not come back')
  }
  const { entries, failure } = await play(() => ({ strike: () => ({ ...NOTHING, end }) }))
  expect(failure).toMatchObject({
    message: 'a fault could not be healed',
    cause: { message: 'it does not come back' },
  })
  expect(entries.some(({ is }) => is === 'born')).toBe(true)
  const deaths = entries.filter((entry) => entry.is === 'died')
  expect(deaths.length).toBeGreaterThanOrEqual(ROUND.workers)
  expect(deaths.every(({ wanted }) => wanted)).toBe(true)
})

it('a fail-over that nobody asked for is seen during a fault that loses nothing, and after the last fault', async () => {
  const PERIOD_MS = 1500
  const { entries, failure } = await play(() => ({
    strike: () => ({ ...NOTHING, ms: 3 * PERIOD_MS }),
    roles: async () => String(Math.floor(performance.now() / PERIOD_MS)),
  }))
  expect(failure).toBe(null)
  const failOvers = entries.flatMap((entry) =>
    entry.is === 'fault' && entry.fault === 'fail-over by itself' && entry.phase === 'end' ? [entry.at] : [],
  )
  const at = (is: (entry: Entry) => boolean): number => entries.find(is)?.at ?? Infinity
  const calmAt = at(({ is }) => is === 'calm')
  const begun = at((entry) => entry.is === 'fault' && entry.fault === 'nothing')
  const ended = at((entry) => entry.is === 'fault' && entry.fault === 'nothing' && entry.phase === 'end')
  expect(failOvers.some((one) => one > begun && one < ended)).toBe(true)
  expect(failOvers.some((one) => one > calmAt)).toBe(true)
})

it('what is left is looked at again while a late call may be the reason', async () => {
  const { entries, failure } = await play(({ url }) => {
    const locks = createLocks(url, { logger: null })
    let taken = 0
    return {
      strike: () => ({
        ...NOTHING,
        begin: () => locks.acquire(`late ${++taken}`, { lease: '13s', renew: false }),
      }),
      stop: () => locks.close(),
    }
  })
  expect(failure).toBe(null)
  expect(entries.filter(({ is }) => is === 'left')).toMatchObject([{ locks: [] }])
})
