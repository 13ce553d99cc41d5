import { type Document, MongoClient } from 'mongodb'

const CONNECT_LIMIT_MS = 5_000
const COMMAND_LIMIT_MS = 20_000

/** Sends one command on connections of its own. */
export async function mongoCommand(url: string, database: string, command: Document): Promise<Document> {
  const client = new MongoClient(url, {
    serverSelectionTimeoutMS: CONNECT_LIMIT_MS,
    connectTimeoutMS: CONNECT_LIMIT_MS,
    socketTimeoutMS: COMMAND_LIMIT_MS,
    maxPoolSize: 1,
    retryReads: false,
    retryWrites: false,
  })
  try {
    return await client.db(database).command(command)
  } finally {
    await client.close()
  }
}
