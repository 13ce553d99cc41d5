import { setTimeout } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { holdfast, importRedis } from '../built.ts'
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

/** That it keeps others out, and lets them in afterwards. */
export async function prove({ lock }: Opened): Promise<void> {
  const unlock = await lock('proof')
  let inside = false
  const next = lock('proof').then((unlockNext) => {
    inside = true
    return unlockNext()
  })
  await setTimeout(30)
  if (inside) throw new Error('two were inside')
  await unlock()
  await next
}

async function viaHoldfast(url: string, prefix: string): Promise<Opened> {
  const { redisStore } = await importRedis()
  const client = new Redis(url)
  const locks = holdfast.createLocks(redisStore(client, { prefix }), { wait: '2m' })
  return {
    async lock(key) {
      const lease = await locks.acquire(key)
      return () => lease.release()
    },
    close: async () => {
      await locks.close()
      await client.quit()
    },
  }
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
