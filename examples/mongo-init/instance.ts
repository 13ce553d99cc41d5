/** One instance of the service: it does not begin before the database is set up, by whomever. */
import { once } from 'node:events'
import { MongoClient } from 'mongodb'
import { createLocks } from '../../src/index.ts'
import { mongoStore } from '../../src/stores/mongo/index.ts'
import { isSetUp, setUp } from './set-up.ts'

/** What it tells `index.ts`; what it created goes along. */
export type Word = 'ready' | 'began' | 'created' | 'half-way' | 'ran' | 'done'

function say(word: Word, what = ''): void {
  process.send?.([word, what])
}

const [url = '', database = ''] = process.argv.slice(2)
process.once('disconnect', () => process.exit())

// What was seen or written may not be undone by a fail-over: others rely on it.
const client = new MongoClient(url, { readConcernLevel: 'majority', writeConcern: { w: 'majority' } })
const db = client.db(database)
// Short, so that the example need not wait long for the lease of the one that was killed.
const locks = createLocks(mongoStore(db), { service: 'shop', lease: '4s' })
await client.connect()

say('ready')
await once(process, 'message')
const outcome = await locks.once('database-initialization', {
  wait: '1m',
  done: () => isSetUp(db),
  run: async (lease) => {
    say('began')
    await setUp(db, lease, {
      created: (what) => say('created', what),
      halfWay: async () => {
        say('half-way')
        await once(process, 'message')
      },
    })
  },
})
say(outcome)

await locks.close()
await client.close()
process.disconnect()
