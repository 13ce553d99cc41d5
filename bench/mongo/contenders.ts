import { createRequire } from 'node:module'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { MongoClient } from 'mongodb'
import { LockManager } from 'mongo-locks'
import { importMongo } from '../built.ts'
import { fromHoldfast } from '../from-holdfast.ts'
import type { Opened } from '../opened.ts'
import type { MongoContender } from './figures.ts'
import { giveBack, type PlainLock, take } from './plain.ts'

/** Each with the driver's own settings and the write concern of the URL. */
export async function open(contender: MongoContender, url: string): Promise<Opened> {
  switch (contender.kind) {
    case 'holdfast':
      return viaHoldfast(url)
    case 'plain':
      return viaPlainCommands(url)
    case 'mongo-locks':
      return viaMongoLocks(url, contender.pollMs)
    case 'mongo-dlock':
      return viaMongoDlock(url, contender.pollMs)
  }
}

async function viaHoldfast(url: string): Promise<Opened> {
  const { mongoStore } = await importMongo()
  const client = new MongoClient(url)
  const { lock, close } = fromHoldfast(mongoStore(client))
  return { lock, close: () => close().then(() => client.close()) }
}

/** It does not wait. */
async function viaPlainCommands(url: string): Promise<Opened> {
  const client = new MongoClient(url)
  const locks = client.db().collection<PlainLock>('plain')
  return {
    async lock(key) {
      await take(locks, key)
      return () => giveBack(locks, key)
    },
    close: () => client.close(),
  }
}

/** It does not wait either, and is asked again. A timer for each lock goes on for up to 10 s after it is free. */
async function viaMongoLocks(url: string, pollMs: number): Promise<Opened> {
  const client = new MongoClient(url)
  const manager = new LockManager(client.db().collection('mongo_locks'))
  return {
    async lock(key) {
      for (;;) {
        const lock = await manager.lock(key)
        if (lock) return () => lock.free()
        await setTimeout(pollMs)
      }
    },
    close: () => client.close(),
  }
}

interface Dlock {
  wait_lock(done: (error: unknown) => void): void
  unlock(done: (error: unknown, unlocked: boolean) => void): void
}

interface Dlocks {
  dlock(id: string): Dlock
}

type OpenDlocks = (options: object, done: (error: unknown, locks: Dlocks) => void) => void

const require = createRequire(import.meta.url)

/** Its client cannot be waited for when it closes, and ends with the process. */
async function viaMongoDlock(url: string, pollMs: number): Promise<Opened> {
  const openDlocks = require('mongo-dlock') as OpenDlocks
  const locks = await promisify(openDlocks)({
    url,
    coll: 'dlocks',
    exp_delta: 30_000,
    wait_lock_period: pollMs,
  })
  return {
    async lock(key) {
      const lock = locks.dlock(key)
      await promisify((done: (error: unknown) => void) => lock.wait_lock(done))()
      return async () => {
        const unlocked = await promisify((done: (error: unknown, is: boolean) => void) => lock.unlock(done))()
        if (!unlocked) throw new Error(`"${key}" was not ours`)
      }
    },
    close: async () => undefined,
  }
}
