import { once } from 'node:events'
import { Cluster, Redis } from 'ioredis'
import type { Access } from '../library.ts'

/** A client of ioredis with its own defaults, and with the listener that its README asks for. */
export function redisClient({ url, cluster, commandTimeoutMs }: Access): Redis {
  const options = commandTimeoutMs === undefined ? {} : { commandTimeout: commandTimeoutMs }
  const client = cluster ? new Cluster(url.split(','), { redisOptions: options }) : new Redis(url, options)
  client.on('error', () => {})
  // What the packages ask of it is the same in both.
  return client as Redis
}

/** Until its socket has ended, too: till then it has a timer. */
export async function endClient(client: Redis): Promise<void> {
  if (client.status === 'end') return
  const ended = once(client, 'end', { signal: AbortSignal.timeout(1_000) })
  client.disconnect()
  await ended.catch(() => {})
}
