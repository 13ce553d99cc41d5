import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { COUNT, runFleet } from '../../examples/cron/fleet.ts'
import { startRedis } from '../servers/redis.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { bundled } from '../support/bundled.ts'
import { atLast } from '../support/stage.ts'

const SCHEDULER = fileURLToPath(new URL('../../examples/cron/scheduler.ts', import.meta.url))

const redis = await startRedis()
atLast(() => redis.stop())

const stores: readonly (readonly [name: string, where: (folder: string) => Promise<string>])[] = [
  ['SQLite', async (folder) => `sqlite:${join(folder, 'locks.db')}`],
  ['PostgreSQL', freshDatabase],
  // One of its own: a scheduler takes a URL alone, which has no prefix.
  ['Redis', async () => redis.url],
]

// At the same time: they wait for the clock.
describe.concurrent.each(stores)('ten processes with one schedule, on %s', (_name, where) => {
  it('at a tick exactly one runs, also if it is killed at once, and at the next another one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-schedules-'))
    atLast(() => rmSync(folder, { recursive: true, force: true }))
    const place = { url: await where(folder), diary: join(folder, 'diary') }
    const [killed, after, ...rest] = await runFleet(await bundled(SCHEDULER), place, 2)
    expect(rest).toEqual([])
    expect([killed?.ran.length, killed?.skipped.length]).toEqual([1, COUNT - 1])
    expect([after?.ran.length, after?.skipped.length]).toEqual([1, COUNT - 2])
    expect(after?.ran).not.toEqual(killed?.ran)
  })
})
