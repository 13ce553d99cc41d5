// A user's program in plain JavaScript. `node lock.js <opener> [file]` takes a lock, is refused it on a second
// client, gives it back, and prints what it saw. It must end by itself: nothing of holdfast may keep it alive.
import assert from 'node:assert/strict'
import { createLocks, LockError } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { sqliteStore } from 'holdfast/sqlite'

const [opener, file] = process.argv.slice(2)
const databases = []
const shared = memoryStore()

const openers = {
  memory: () => shared,
  'memory:': () => 'memory:',
  path: () => sqliteStore(file),
  'sqlite:': () => `sqlite:${file}`,
  libsql: async () => own((await import('libsql')).default),
  'better-sqlite3': async () => own((await import('better-sqlite3')).default),
  'node:sqlite': async () => own((await import('node:sqlite')).DatabaseSync),
}

function own(Database) {
  const database = new Database(file)
  databases.push(database)
  return sqliteStore(database)
}

const first = createLocks(await openers[opener](), { service: 'first' })
const second = createLocks(await openers[opener](), { service: 'second' })
const tokens = []

await first.using('order:42', async (lease) => {
  assert.equal(lease.held, true)
  tokens.push(lease.token)
  // A memory store named by URL belongs to one client.
  if (opener === 'memory:') return
  assert.equal(await second.tryAcquire('order:42'), null)
  await assert.rejects(second.acquire('order:42', { wait: 0 }), (error) => {
    assert(error instanceof LockError)
    return error.code === 'LOCK_ACQUIRE_TIMEOUT'
  })
  assert.equal((await second.inspect('order:42')).holder.service, 'first')
})
const taker = opener === 'memory:' ? first : second
const lease = await taker.acquire('order:42', { wait: '10s' })
tokens.push(lease.token)
assert.equal(await lease.release(), true)
assert(tokens[1] > tokens[0], 'tokens rise')

await first.close()
await second.close()
for (const database of databases) {
  // What the user opened is still the user's: it answers, and is the user's to close.
  assert.equal(database.prepare('select 1 as one').get().one, 1)
  database.close()
}
console.log(JSON.stringify({ node: process.versions.node, tokens: tokens.map(String) }))
