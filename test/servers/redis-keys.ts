import { Redis } from 'ioredis'

/** Removes, on one node, all keys that have the text in their names. */
export async function removeKeys(url: string, text: string): Promise<void> {
  const client = new Redis(url, { lazyConnect: true, connectTimeout: 5_000, retryStrategy: null })
  client.on('error', () => {}) // The calls fail with it too.
  try {
    await client.connect()
    let cursor = '0'
    do {
      const [next, keys] = await client.scan(cursor, 'MATCH', `*${text}*`, 'COUNT', 1_000)
      // One by one: on a cluster they are in different slots.
      await Promise.all(keys.map((key) => client.unlink(key)))
      cursor = next
    } while (cursor !== '0')
  } finally {
    client.disconnect()
  }
}
