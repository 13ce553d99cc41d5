import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it } from 'vitest'
import { createLocks } from '../../src/locks.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import type { Outcome, Task } from '../support/transaction-child.ts'
import { atEnd, drivers, observe, until } from '../support/transaction-stage.ts'

const CHILD = fileURLToPath(new URL('../support/transaction-child.ts', import.meta.url))
const LEASE_MS = 3000

const url = await freshDatabase()
const observer = await observe(url)
await observer.run('create table account (writer text not null, writes int not null)')

beforeEach(async () => {
  await observer.run('truncate account')
  await observer.run("insert into account values ('nobody', 0)")
})

/** A process that stands still inside its transaction, and the locks that it shares with this one. */
async function frozen(
  task: Pick<Task, 'driver' | 'freezeIn'>,
  leaseMs = LEASE_MS,
): Promise<{
  path: string
  resume: () => Promise<Outcome>
}> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-frozen-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'locks.db')
  const child = fork(CHILD, { execArgv: ['--import', 'tsx', '--no-warnings'] })
  atEnd(() => child.kill('SIGKILL'))
  await once(child, 'message')
  child.send({ url, locks: path, leaseMs, ...task } satisfies Task)
  const [inside] = (await once(child, 'message')) as [unknown]
  expect(inside).toBe('inside')
  // In `commit` it stops itself, at the right line; twice would be once too often.
  if (task.freezeIn !== 'commit') child.kill('SIGSTOP')
  await until('the process to stand still', () => stateOf(child) === 'T')
  const resume = async (): Promise<Outcome> => {
    const ended = once(child, 'message')
    child.kill('SIGCONT')
    child.send('go on')
    return ((await ended) as [Outcome])[0]
  }
  return { path, resume }
}

function stateOf({ pid }: ChildProcess): string | undefined {
  return /\) (\w) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]
}

const account = async (): Promise<unknown> => (await observer.run('select writer, writes from account'))[0]

describe.each(drivers)('a process frozen in a transaction on $name', (driver) => {
  it.each(['pause', 'statement'] as const)(
    'in a %s: the next holder gets through when the lease is over; nothing of the frozen one is stored',
    async (freezeIn) => {
      const { path, resume } = await frozen({ driver: driver.name, freezeIn })
      const start = performance.now()
      const locks = createLocks(sqliteStore(path), { service: 'next', logger: null })
      atEnd(() => locks.close())
      const opened = await driver.open(url)
      let gotKey = 0
      locks.on('granted', () => (gotKey = performance.now()))
      await opened.transaction(
        locks,
        'account',
        (tx) => tx.run("update account set writer = 'next', writes = writes + 1"),
        { wait: '20s', lease: LEASE_MS },
      )
      const end = performance.now()
      expect(gotKey - start).toBeLessThan(LEASE_MS + 1000)
      // By then the server has ended the transaction of the frozen one: no wait for its row locks.
      expect(end - gotKey).toBeLessThan(LEASE_MS / 3)
      expect(await account()).toEqual({ writer: 'next', writes: 1 })
      expect(await resume()).toMatchObject({ code: 'LOCK_LOST' })
      expect(await account()).toEqual({ writer: 'next', writes: 1 })
    },
  )
})

describe('a process frozen after its last look at the lease, before COMMIT is sent', () => {
  const [driver] = drivers
  if (!driver) throw new Error('no driver')

  it('stores nothing once the lease is over: the server has ended its transaction', async () => {
    const { path, resume } = await frozen({ driver: driver.name, freezeIn: 'commit' })
    const locks = createLocks(sqliteStore(path), { service: 'next', logger: null })
    atEnd(() => locks.close())
    const opened = await driver.open(url)
    await opened.transaction(
      locks,
      'account',
      (tx) => tx.run("update account set writer = 'next', writes = writes + 1"),
      { wait: '20s', lease: LEASE_MS },
    )
    const outcome = await resume()
    expect(outcome).toMatchObject({ code: expect.stringMatching(/^(LOCK_LOST|STORE_UNAVAILABLE)$/) })
    expect(await account()).toEqual({ writer: 'next', writes: 1 })
  })

  it('and resumed in time, commits', async () => {
    const { resume } = await frozen({ driver: driver.name, freezeIn: 'commit' }, 60_000)
    expect(await resume()).toEqual({ ended: true })
    expect(await account()).toEqual({ writer: 'frozen', writes: 1 })
  })
})
