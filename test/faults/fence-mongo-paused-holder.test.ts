import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { MongoClient } from 'mongodb'
import { describe, expect, it, onTestFinished } from 'vitest'
import { documentFence, fence } from '../../src/fence/index.ts'
import { createLocks } from '../../src/locks.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { freshMongoDatabase } from '../servers/shared-mongo.ts'
import { freshPath } from '../support/sqlite-stage.ts'

const HOLDER = fileURLToPath(new URL('fixtures/fence-mongo-holder.ts', import.meta.url))

const { url, database } = await freshMongoDatabase()

describe('a holder that is paused past its lease and writes late to MongoDB', () => {
  /** What the late holder says, and what the document is worth in the end. */
  async function race(
    manner: 'unguarded' | 'transaction' | 'document',
  ): Promise<{ late: unknown; amount: unknown }> {
    const file = freshPath()
    const client = new MongoClient(url)
    onTestFinished(() => client.close())
    const db = client.db(database)
    const stock = db.collection<{ _id: string; amount: number }>(`paused_${manner}`)
    await stock.insertOne({ _id: '7', amount: 100 })
    const guard = fence(db)
    await guard.open()

    const holder = fork(HOLDER, [file, url, database, manner], {
      execArgv: ['--import', import.meta.resolve('tsx')],
    })
    onTestFinished(() => void holder.kill('SIGKILL'))
    const exited = once(holder, 'exit')
    const said = async (): Promise<unknown> => (await once(holder, 'message'))[0]
    expect(await said()).toBe('about to write')
    holder.kill('SIGSTOP')

    const locks = createLocks(sqliteStore(file), { logger: null })
    onTestFinished(() => locks.close())
    await locks.using(`stock:${manner}`, { wait: '20s' }, async (lease) => {
      const change = { $inc: { amount: -10 } }
      if (manner === 'document') await documentFence(stock).update({ _id: '7' }, change, lease)
      else {
        await client.withSession((session) =>
          session.withTransaction(async () => {
            await guard.check(session, `stock:${manner}`, lease)
            await stock.updateOne({ _id: '7' }, change, { session })
          }),
        )
      }
    })

    const answer = said()
    holder.kill('SIGCONT')
    holder.send('go on')
    const late = await answer
    await exited
    return { late, amount: (await stock.findOne({ _id: '7' }))?.amount }
  }

  it('overwrites what its successor has written, if nothing at the resource checks', async () => {
    expect(await race('unguarded')).toEqual({ late: 'written', amount: 99 })
  })

  it.each(['transaction', 'document'] as const)(
    'gets STALE_TOKEN from a guard in a %s, and changes nothing',
    async (manner) => {
      expect(await race(manner)).toEqual({ late: 'STALE_TOKEN', amount: 90 })
    },
  )
})
