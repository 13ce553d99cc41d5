import { expect, it } from 'vitest'
import type { MongoDb } from '../../src/databases/mongo.ts'
import { Database } from '../../src/stores/mongo/database.ts'
import { freshMongoDatabase } from '../servers/shared-mongo.ts'
import { clientOn, failureOf } from '../support/mongo-stage.ts'

const { url, database } = await freshMongoDatabase()

it('G5 a step that was given up while the client was being opened is never sent, whatever the driver does with signals', async () => {
  const db = clientOn(url).db(database)
  const sent: unknown[] = []
  /** As drivers before 6.13, which do not know it. */
  const deaf = {
    databaseName: db.databaseName,
    client: db.client,
    collection: (name: string) => db.collection(name),
    command: (command: object) => {
      sent.push(command)
      return db.command(command)
    },
  } as unknown as MongoDb
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  const late = new Database({ db: () => opened.then(() => deaf), close: async () => undefined })
  const step = late.step((command) => command({ insert: 'late', documents: [{ _id: 'late' }] }))
  expect(await failureOf(step)).toMatchObject({ name: 'TimedOut' })
  open()
  await late.step((command) => command({ insert: 'late', documents: [{ _id: 'in time' }] }))
  expect(sent).toHaveLength(1)
  expect(await db.collection('late').find().toArray()).toEqual([{ _id: 'in time' }])
})
