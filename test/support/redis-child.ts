// A process of its own with locks on Redis, driven by messages; see redis-stage.ts.
import { Redis } from 'ioredis'
import type { Lease } from '../../src/lease.ts'
import { createLocks, type Locks } from '../../src/locks.ts'
import type { AcquireOptions, LocksOptions } from '../../src/options.ts'
import type { LockStats } from '../../src/monitor/stats.ts'
import client, { type RedisStoreAddress } from './redis-client.ts'
import { answerCalls } from './answer-calls.ts'

export interface Call {
  readonly id: number
  readonly name: keyof typeof actions
  readonly args: readonly unknown[]
}

/** By a clock that all processes of a machine share, in ms. */
export interface Turn {
  readonly asked: number
  readonly from: number
  readonly to: number
  readonly token: string
}

let locks: Locks
const leases = new Map<string, Lease>()

const now = (): number => Number(process.hrtime.bigint()) / 1e6
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const actions = {
  async start(address: RedisStoreAddress, options: LocksOptions = {}): Promise<void> {
    locks = createLocks(await client(address), { logger: null, ...options })
    // Opens the store.
    await locks.inspect('any')
  },

  async acquire(key: string, options?: AcquireOptions): Promise<string> {
    const lease = await locks.acquire(key, options)
    leases.set(key, lease)
    return String(lease.token)
  },

  async isHeld(key: string): Promise<boolean> {
    return leases.get(key)?.held ?? false
  },

  async release(key: string): Promise<boolean> {
    return (await leases.get(key)?.release()) ?? false
  },

  /** Reads a number and writes it back plus one, in two commands, under the lock. */
  async increment(url: string, counter: string, times: number): Promise<string[]> {
    const redis = new Redis(url)
    const tokens: string[] = []
    const task = async (): Promise<void> => {
      await locks.using(counter, { wait: Infinity }, async (lease) => {
        await redis.set(counter, Number(await redis.get(counter)) + 1)
        tokens.push(String(lease.token))
      })
    }
    // Two tasks: turns are handed on inside the process, and between processes.
    const each = async (): Promise<void> => {
      for (let i = 0; i < times / 2; i += 1) await task()
    }
    await Promise.all([each(), each()])
    redis.disconnect()
    return tokens
  },

  /** Takes the keys again and again for a while, each for a moment; now and then it gives up before its turn. */
  async compete(keys: readonly string[], forMs: number, holdMs: number): Promise<(Turn & { key: string })[]> {
    const turns: (Turn & { key: string })[] = []
    const end = now() + forMs
    const task = async (key: string): Promise<void> => {
      while (now() < end) {
        const asked = now()
        const impatient = Math.random() < 0.2
        const wait = impatient ? Math.random() * 3 * holdMs : 60_000
        const lease = await locks.acquire(key, { wait, lease: '60s' }).catch(() => undefined)
        if (lease) {
          const from = now()
          await sleep(Math.random() * holdMs)
          turns.push({ key, asked, from, to: now(), token: String(lease.token) })
          await lease.release()
        }
        if (Math.random() < 0.3) await sleep(Math.random() * 4 * holdMs)
      }
    }
    await Promise.all(keys.map(task))
    return turns
  },

  async stats(): Promise<LockStats> {
    return locks.stats()
  },

  async close(): Promise<void> {
    await locks.close()
  },
}

answerCalls(actions)
