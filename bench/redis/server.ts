import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'

/** Where `index.ts` has a server for all rounds. */
const SERVER = 'HOLDFAST_REDIS_URL'

/**
 * Runs `work` with a server and with what the names of all its keys have in them. Afterwards nothing may be held: a
 * contender that does not give back what it took would be fast for a wrong reason.
 */
export async function withKeys<T>(work: (url: string, prefix: string) => Promise<T>): Promise<T> {
  const url = process.env[SERVER]
  if (!url) throw new Error(`${SERVER} is not set`)
  const prefix = `bench-${randomBytes(3).toString('hex')}`
  const result = await work(url, prefix)
  await onServer(url, async (client) => {
    const left = await keysWith(client, prefix)
    const held = left.filter((name) => !name.endsWith(':fence'))
    if (left.length > 0) await client.unlink(...left)
    if (held.length > 0) throw new Error(`${held.length} keys were left, such as "${held[0]}"`)
  })
  return result
}

/** Runs `work` on a connection of its own. */
export async function onServer<T>(url: string, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url)
  try {
    return await work(client)
  } finally {
    client.disconnect()
  }
}

/** All keys with this text in their names. */
export async function keysWith(client: Redis, text: string): Promise<string[]> {
  const found: string[] = []
  let cursor = '0'
  do {
    const [next, names] = await client.scan(cursor, 'MATCH', `*${text}*`, 'COUNT', 1_000)
    found.push(...names)
    cursor = next
  } while (cursor !== '0')
  return found
}

/** One line of INFO. */
export async function infoOf(client: Redis, section: string, name: string): Promise<string> {
  const line = (await client.info(section)).split('\r\n').find((each) => each.startsWith(`${name}:`))
  if (line === undefined) throw new Error(`INFO ${section} says nothing of ${name}`)
  return line.slice(name.length + 1)
}

/** What the server has used since it was started. */
export async function processorMs(client: Redis): Promise<number> {
  const seconds = ['used_cpu_user', 'used_cpu_sys'].map((name) => infoOf(client, 'cpu', name))
  return (await Promise.all(seconds)).reduce((sum, each) => sum + Number(each) * 1000, 0)
}
