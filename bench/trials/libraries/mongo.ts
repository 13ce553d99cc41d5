import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { MongoClient } from 'mongodb'
import { LockManager } from 'mongo-locks'
import { type Access, between, type Library, refused, type Taken, type Terms } from '../library.ts'

/** Its lease is always a minute, renewed every 10 s, and it does not wait. */
export async function mongoLocks({ url }: Access): Promise<Library> {
  const client = new MongoClient(url)
  const manager = new LockManager(client.db('trials').collection('mongo_locks'))
  const take = async (key: string): Promise<Taken> => {
    const lock = await manager.lock(key)
    if (!lock) throw refused(key)
    return { says: () => lock.locked, release: () => lock.free() }
  }
  return {
    section: async (key, _terms, body) => between(await take(key), body),
    take,
    close: () => client.close(),
  }
}

type Done<T> = (error: unknown, result: T) => void

interface Dlock {
  lock(done: Done<boolean>): void
  wait_lock(done: Done<boolean>): void
  unlock(done: Done<boolean>): void
}

interface Dlocks {
  dlock(options: object): Dlock
  close(done: Done<void>): void
}

const require = createRequire(import.meta.url)

/** It renews at 80 % of the lease by default, and waits without a limit, asking again every 5 s. */
export async function mongoDlock({ url }: Access): Promise<Library> {
  const open = promisify(require('mongo-dlock') as (options: object, done: Done<Dlocks>) => void)
  const locks = await open({ url, db: 'trials', coll: 'dlocks' })
  const take = async (id: string, { leaseMs, waitMs }: Terms, autorefresh: boolean): Promise<Taken> => {
    const lock = locks.dlock({ id, exp_delta: leaseMs, autorefresh })
    const got = await promisify((done: Done<boolean>) =>
      waitMs === 0 ? lock.lock(done) : lock.wait_lock(done),
    )()
    if (!got) throw refused(id)
    return { release: () => promisify((done: Done<boolean>) => lock.unlock(done))() }
  }
  return {
    section: async (key, terms, body) => between(await take(key, terms, true), body),
    take: (key, terms) => take(key, terms, false),
    close: () => promisify((done: Done<void>) => locks.close(done))(),
  }
}
