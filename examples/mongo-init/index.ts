/**
 * Ten instances of a service start at once on an empty database of MongoDB. One of them sets it up, with indexes and
 * seed documents, and is killed half-way; another finishes; the rest wait and do nothing.
 *
 *     MONGODB_URL=mongodb://localhost:27017 npx tsx examples/mongo-init/index.ts
 *
 * It works in a database of its own, `mongo_init_…`, and drops it. What an instance does is in instance.ts, and what
 * setting up means in set-up.ts.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { MongoClient } from 'mongodb'
import type { Word } from './instance.ts'

const { MONGODB_URL } = process.env
if (!MONGODB_URL) throw new Error('set MONGODB_URL to a MongoDB, such as mongodb://localhost:27017')

const INSTANCE = fileURLToPath(new URL('./instance.ts', import.meta.url))
const COUNT = 10

const database = `mongo_init_${randomBytes(4).toString('hex')}`
const created: string[] = []
const outcomes: Word[] = []
let killed: ChildProcess | undefined

function hear(name: string, child: ChildProcess, [word, what]: readonly [Word, string]): void {
  if (word === 'created') created.push(what)
  if (word === 'began') console.log(`  ${name} sets the database up`)
  if (word === 'half-way' && killed) child.send('go on')
  if (word === 'half-way' && !killed) {
    killed = child
    child.kill('SIGKILL')
    console.log(`  ${name} is killed half-way`)
  }
  if (word === 'ran') console.log(`  ${name} has finished`)
  if (word === 'ran' || word === 'done') outcomes.push(word)
}

/** Resolves when it ends as it should; until then, what it says is heard. */
async function ended(name: string, child: ChildProcess): Promise<void> {
  child.on('message', (message) => hear(name, child, message as [Word, string]))
  const [code] = await once(child, 'exit')
  if (code !== 0 && child !== killed) throw new Error(`${name} ended with ${String(code)}`)
}

const children = Array.from({ length: COUNT }, () => fork(INSTANCE, [MONGODB_URL, database]))
const client = new MongoClient(MONGODB_URL)
try {
  const all = Promise.all(children.map((child, i) => ended(`instance ${i + 1}`, child)))
  await Promise.race([all, Promise.all(children.map((child) => once(child, 'message')))])
  console.log(`${COUNT} instances start at once on an empty database`)
  for (const child of children) child.send('start')
  await all

  const db = client.db(database)
  const indexes = await db.collection('users').indexes()
  const roles = await db.collection('roles').find().sort({ _id: 1 }).toArray()
  const ran = outcomes.filter((outcome) => outcome === 'ran').length
  console.log(`1 was killed, ${ran} ran, ${outcomes.length - ran} found it done`)
  console.log(`indexes: ${indexes.map(({ name }) => name).join(', ')}`)
  console.log(`roles: ${roles.map(({ _id }) => String(_id)).join(', ')}`)
  console.log(`created: ${created.join(', ')}`)
} finally {
  for (const child of children) child.kill('SIGKILL')
  await client.db(database).dropDatabase()
  await client.close()
}
