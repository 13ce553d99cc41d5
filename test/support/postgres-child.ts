// A process of its own with locks on PostgreSQL, driven by messages; see postgres-process.ts.
import pg from 'pg'
import type { LockError } from '../../src/errors.ts'
import { fence } from '../../src/fence/index.ts'
import type { Lease } from '../../src/lease.ts'
import { createLocks, type Locks } from '../../src/locks.ts'
import type { AcquireOptions, LocksOptions } from '../../src/options.ts'
import type { LockStats } from '../../src/monitor/stats.ts'
import { postgresStore, type PostgresStoreOptions } from '../../src/stores/postgres/index.ts'
import { answerCalls } from './answer-calls.ts'

export interface Call {
  readonly id: number
  readonly name: keyof typeof actions
  readonly args: readonly unknown[]
}

export interface Got {
  readonly token: string
  readonly takenOver: boolean
  readonly waitedMs: number
}

let locks: Locks
let lastGrant: Got | undefined
const leases = new Map<string, Lease>()

const actions = {
  async start(url: string, store: PostgresStoreOptions = {}, options: LocksOptions = {}): Promise<void> {
    locks = createLocks(postgresStore(url, store), { logger: null, ...options })
    locks.on('granted', ({ token, takenOver, waitedMs }) => {
      lastGrant = { token: String(token), takenOver, waitedMs }
    })
  },

  /** Opens the store by the first thing that is asked of it. */
  async list(): Promise<number> {
    return (await locks.list()).locks.length
  },

  async acquire(key: string, options?: AcquireOptions): Promise<Got | undefined> {
    leases.set(key, await locks.acquire(key, options))
    return lastGrant
  },

  async isHeld(key: string): Promise<boolean> {
    return leases.get(key)?.held ?? false
  },

  async release(key: string): Promise<boolean> {
    return (await leases.get(key)?.release()) ?? false
  },

  /** Reads a number and writes it back plus one, in two statements, under the lock. */
  async increment(url: string, tasks: number, times: number): Promise<string[]> {
    const pool = new pg.Pool({ connectionString: url, max: 2, options: '-c synchronous_commit=off' })
    const tokens: string[] = []
    const task = async (): Promise<void> => {
      for (let i = 0; i < times; i += 1) {
        await locks.using('counter', { wait: Infinity }, async (lease) => {
          const { rows } = await pool.query({ name: 'read', text: 'select n from counter' })
          await pool.query({ name: 'write', text: 'update counter set n = $1', values: [rows[0].n + 1] })
          tokens.push(String(lease.token))
        })
      }
    }
    await Promise.all(Array.from({ length: tasks }, task))
    await pool.end()
    return tokens
  },

  /** Takes the key in its turn, holds it for a moment, and says when that was. */
  async turn(key: string, holdMs: number): Promise<{ from: bigint; to: bigint }> {
    return locks.using(key, { wait: Infinity }, async () => {
      const from = process.hrtime.bigint()
      await new Promise((resolve) => setTimeout(resolve, holdMs))
      return { from, to: process.hrtime.bigint() }
    })
  },

  /** Writes an amount that was read under the lock, whether the lock is still held or not. */
  async write(url: string, key: string, amount: number, guarded: boolean): Promise<string> {
    const lease = leases.get(key)
    if (!lease) return 'never held'
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      await client.query('begin')
      if (guarded) await fence(client).check(client, key, lease)
      await client.query('update stock set amount = $1', [amount])
      await client.query('commit')
      return 'written'
    } catch (error) {
      return (error as LockError).code
    } finally {
      await client.end()
    }
  },

  /** From now on the wall clock of this process is wrong by that much. */
  async shiftClock(ms: number): Promise<number> {
    const Right = Date
    globalThis.Date = class extends Right {
      constructor(...args: [] | [number]) {
        super(...(args.length === 0 ? ([Right.now() + ms] as const) : args))
      }
      static override now(): number {
        return Right.now() + ms
      }
    } as DateConstructor
    return Date.now()
  },

  async stats(): Promise<LockStats> {
    return locks.stats()
  },

  async close(): Promise<void> {
    await locks.close()
  },

  /** Whether the process ends is up to what the locks have left. */
  async letGo(): Promise<void> {
    setImmediate(() => process.disconnect())
  },
}

answerCalls(actions)
