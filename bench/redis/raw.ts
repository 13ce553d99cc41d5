import { createHash, randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'

const LEASE_MS = 30_000

const GIVE_BACK = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0`
const SHA = createHash('sha1').update(GIVE_BACK).digest('hex')

/** What one writes by hand: one command takes a key, one script gives it back. No token, no renewal. */
export async function prepare(client: Redis): Promise<void> {
  await client.script('LOAD', GIVE_BACK)
}

export async function take(client: Redis, key: string): Promise<string> {
  const owner = randomUUID()
  if ((await client.set(key, owner, 'PX', LEASE_MS, 'NX')) !== 'OK') throw new Error(`"${key}" is held`)
  return owner
}

export async function giveBack(client: Redis, key: string, owner: string): Promise<void> {
  if ((await client.evalsha(SHA, 1, key, owner)) !== 1) throw new Error(`"${key}" was not ours`)
}
