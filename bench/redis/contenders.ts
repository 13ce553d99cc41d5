import { Redis } from 'ioredis'
import { importRedis } from '../built.ts'
import { fromHoldfast } from '../from-holdfast.ts'
import type { Opened } from '../opened.ts'
import type { RedisContender } from './figures.ts'
import { viaRedisSemaphore, viaRedisson, viaRedlock, viaRedlockUniversal, viaVerrou } from './peers.ts'
import { giveBack, prepare, take } from './raw.ts'

/** Each on one connection of ioredis, and one more to listen if it does. */
export async function open(contender: RedisContender, url: string, prefix: string): Promise<Opened> {
  switch (contender.kind) {
    case 'holdfast':
      return viaHoldfast(url, prefix)
    case 'raw':
      return within(prefix, await viaRawCommands(url))
    case 'redis-semaphore':
      return within(prefix, viaRedisSemaphore(url, contender.pollMs))
    case 'redlock':
      return within(prefix, viaRedlock(url, contender.pollMs))
    case 'verrou':
      return within(prefix, viaVerrou(url, contender.pollMs))
    case 'redlock-universal':
      return within(prefix, viaRedlockUniversal(url, contender.pollMs))
    case 'redisson':
      return within(prefix, viaRedisson(url, 'pubsub'))
    case 'redisson-streams':
      return within(prefix, viaRedisson(url, 'streams'))
  }
}

async function viaHoldfast(url: string, prefix: string): Promise<Opened> {
  const { redisStore } = await importRedis()
  const client = new Redis(url)
  const { lock, close } = fromHoldfast(redisStore(client, { prefix }))
  return { lock, close: () => close().then(() => client.quit()) }
}

/** It does not wait. */
async function viaRawCommands(url: string): Promise<Opened> {
  const client = new Redis(url)
  await prepare(client)
  return {
    async lock(key) {
      const owner = await take(client, key)
      return () => giveBack(client, key, owner)
    },
    close: () => client.quit(),
  }
}

function within(prefix: string, { lock, close }: Opened): Opened {
  return { lock: (key) => lock(`${prefix}:${key}`), close }
}
