/**
 * The MongoDB servers that all test files of a project share. Each is started by the first file that asks for it, or
 * is that of HOLDFAST_MONGODB_URL (also MONGODB_URL), HOLDFAST_MONGODB_STANDALONE_URL, HOLDFAST_MONGODB_SET_URL. Tests
 * that stop, freeze or configure a server, or set fail points, start their own, see mongo.ts.
 *
 *     const { url, database } = await freshMongoDatabase()              // on a replica set of one node
 *     const { url, database } = await freshMongoDatabase('mongo-set')   // dropped after the last test of the file
 */
import { randomBytes } from 'node:crypto'
import { afterAll } from 'vitest'
import { mongoCommand } from './mongo-command.ts'
import { sharedServer } from './shared-server.ts'

export type SharedMongo = 'mongo' | 'mongo-standalone' | 'mongo-set'

export interface FreshMongoDatabase {
  /** Of the server; it does not name the database. */
  readonly url: string
  readonly database: string
}

const databases: FreshMongoDatabase[] = []

afterAll(async () => {
  for (const { url, database } of databases.splice(0)) await mongoCommand(url, database, { dropDatabase: 1 })
})

/** A database that is not there yet, with a name that no other caller has. */
export async function freshMongoDatabase(kind: SharedMongo = 'mongo'): Promise<FreshMongoDatabase> {
  const fresh = { url: await sharedServer(kind), database: `holdfast_${randomBytes(8).toString('hex')}` }
  databases.push(fresh)
  return fresh
}
