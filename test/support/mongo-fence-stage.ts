import { MongoClient } from 'mongodb'
import { MongoClient as MongoClient6 } from 'mongodb-6'
import { atLast } from './stage.ts'

/** Closed after the last test of the file. */
export function clientsOf(url: string): readonly (readonly [string, MongoClient])[] {
  const clients = [
    ['driver 7', new MongoClient(url)],
    // Of the same shape, but for private parts of its types.
    ['driver 6', new MongoClient6(url) as unknown as MongoClient],
    ['a client with other settings', new MongoClient(url, { ...careless(), promoteLongs: false })],
  ] as const
  for (const [, client] of clients) atLast(() => client.close())
  return clients
}

/** What a guard must not depend on. */
function careless(): object {
  return {
    w: 1,
    readPreference: 'secondaryPreferred',
    readConcern: { level: 'available' },
    retryWrites: false,
  }
}
