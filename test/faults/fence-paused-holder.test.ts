import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fence } from '../../src/fence/index.ts'
import { createLocks } from '../../src/index.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { freshPath } from '../support/sqlite-stage.ts'

const HOLDER = fileURLToPath(new URL('fixtures/fence-holder.ts', import.meta.url))

/** What the late holder says, and what the row is worth in the end. */
async function race(manner: 'guarded' | 'unguarded'): Promise<{ late: unknown; amount: unknown }> {
  const [file, url] = [freshPath(), await freshDatabase()]
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('create table stock (sku text primary key, amount integer)')
  await client.query("insert into stock values ('7', 100)")
  const guard = fence(client)
  await guard.open()

  const holder = fork(HOLDER, [file, url, manner], { execArgv: ['--import', import.meta.resolve('tsx')] })
  onTestFinished(() => void holder.kill('SIGKILL'))
  const exited = once(holder, 'exit')
  const said = async (): Promise<unknown> => (await once(holder, 'message'))[0]
  expect(await said()).toBe('about to write')
  holder.kill('SIGSTOP')

  const locks = createLocks(`sqlite:${file}`, { logger: null })
  await locks.using('stock:7', { wait: '20s' }, async (lease) => {
    await client.query('begin')
    await guard.check(client, 'stock:7', lease)
    await client.query("update stock set amount = amount - 10 where sku = '7'")
    await client.query('commit')
  })
  await locks.close()

  const answer = said()
  holder.kill('SIGCONT')
  holder.send('go on')
  const late = await answer
  await exited
  const { rows } = await client.query("select amount from stock where sku = '7'")
  return { late, amount: rows[0].amount }
}

describe('a holder that is paused past its lease and writes late', () => {
  it('overwrites what its successor has written, if nothing at the resource checks', async () => {
    expect(await race('unguarded')).toEqual({ late: 'written', amount: 99 })
  })

  it('gets STALE_TOKEN from a guard at the resource, and changes nothing', async () => {
    expect(await race('guarded')).toEqual({ late: 'STALE_TOKEN', amount: 90 })
  })
})
