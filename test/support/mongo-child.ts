// A process of its own with locks on MongoDB, driven by messages; see mongo-stage.ts.
import { MongoClient } from 'mongodb'
import type { Lease } from '../../src/lease.ts'
import { createLocks, type Locks } from '../../src/locks.ts'
import type { AcquireOptions, LocksOptions } from '../../src/options.ts'
import type { LockStats } from '../../src/monitor/stats.ts'
import client, { type MongoStoreAddress } from './mongo-client.ts'
import { answerCalls } from './answer-calls.ts'

export interface Call {
  readonly id: number
  readonly name: keyof typeof actions
  readonly args: readonly unknown[]
}

let locks: Locks
const leases = new Map<string, Lease>()

const actions = {
  async start(address: MongoStoreAddress, options: LocksOptions = {}): Promise<void> {
    locks = createLocks(client(address), { logger: null, ...options })
    // Opens the store.
    await locks.inspect('any')
  },

  /** By a client of its own, which is closed. */
  async connect(url: string): Promise<void> {
    const mongo = new MongoClient(url)
    await mongo.db('any').command({ ping: 1 })
    await mongo.close()
  },

  async acquire(key: string, options?: AcquireOptions): Promise<string> {
    const lease = await locks.acquire(key, options)
    leases.set(key, lease)
    return String(lease.token)
  },

  /** Tries all keys at once; resolves to those that it got. */
  async tryEach(keys: readonly string[]): Promise<string[]> {
    const all = await Promise.all(keys.map((key) => locks.tryAcquire(key)))
    return all.flatMap((lease) => (lease ? [lease.key] : []))
  },

  async isHeld(key: string): Promise<boolean> {
    return leases.get(key)?.held ?? false
  },

  async release(key: string): Promise<boolean> {
    return (await leases.get(key)?.release()) ?? false
  },

  /** Reads a number and writes it back plus one, in two commands, under the lock. */
  async increment(url: string, database: string, counter: string, times: number): Promise<string[]> {
    const mongo = new MongoClient(url)
    const counters = mongo.db(database).collection<{ _id: string; value: number }>('counters')
    const tokens: string[] = []
    const task = async (): Promise<void> => {
      await locks.using(counter, { wait: Infinity }, async (lease) => {
        const found = await counters.findOne({ _id: counter })
        const value = (found?.value ?? 0) + 1
        await counters.replaceOne({ _id: counter }, { value }, { upsert: true, writeConcern: { w: 1 } })
        tokens.push(String(lease.token))
      })
    }
    // Two tasks: turns are handed on inside the process, and between processes.
    const each = async (): Promise<void> => {
      for (let i = 0; i < times / 2; i += 1) await task()
    }
    await Promise.all([each(), each()])
    await mongo.close()
    return tokens
  },

  async stats(): Promise<LockStats> {
    return locks.stats()
  },

  async close(): Promise<void> {
    await locks.close()
  },

  /** From then on nothing of the test keeps this process alive. */
  async leave(): Promise<void> {
    process.channel?.unref()
  },
}

answerCalls(actions)
