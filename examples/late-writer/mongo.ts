/**
 * A holder that is late, with and without a guard, on MongoDB, a server that stands alone included:
 *
 *     MONGODB_URL=mongodb://localhost:27017 npx tsx examples/late-writer/mongo.ts
 *
 * It works in the database `late_writer`, which is dropped.
 */
import { setTimeout } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { createLocks, LockError } from '../../src/index.ts'
import { documentFence } from '../../src/fence/index.ts'
import { mongoStore } from '../../src/stores/mongo/index.ts'

const { MONGODB_URL } = process.env
if (!MONGODB_URL) throw new Error('set MONGODB_URL to a MongoDB, such as mongodb://localhost:27017')

const client = new MongoClient(MONGODB_URL)
const db = client.db('late_writer')
// Two clients stand for two services.
const first = createLocks(mongoStore(db), { service: 'first' })
const second = createLocks(mongoStore(db), { service: 'second' })
const reports = db.collection<{ _id: string; text: string }>('reports')
const guard = documentFence(reports)

async function write(text: string, token: bigint, guarded: boolean): Promise<void> {
  const [filter, update] = [{ _id: 'report' }, { $set: { text } }]
  if (guarded) await guard.update(filter, update, token, { upsert: true })
  else await reports.updateOne(filter, update, { upsert: true })
}

async function story(guarded: boolean): Promise<void> {
  console.log(guarded ? '\nWith a guard:' : 'Without a guard:')
  // Never renewed, as if the process stood still: a long collection of garbage, a laptop that sleeps.
  const late = await first.acquire('report', { lease: '500ms', renew: false })
  console.log('  first  holds the lock')
  await setTimeout(late.remainingMs + 200)

  const lease = await second.acquire('report')
  await write('by second', lease.token, guarded)
  console.log('  second has taken over and written')

  try {
    // The signal has told it by now. This one does not listen.
    await write('by first', late.token, guarded)
    console.log('  first  writes, late')
  } catch (error) {
    if (!(error instanceof LockError)) throw error
    console.log(`  first  is refused: ${error.code}`)
  }
  console.log(`  stored: ${(await reports.findOne({ _id: 'report' }))?.text}`)
  await lease.release()
}

try {
  await story(false)
  await story(true)
} finally {
  await first.close()
  await second.close()
  await db.dropDatabase()
  await client.close()
}
