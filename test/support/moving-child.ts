// An instance of a fleet that moves from one store to another, driven by messages; see moving-fleet.test.ts.
import { Redis } from 'ioredis'
import { type RedisFence, redisFence } from '../../src/fence/index.ts'
import { createLocks, type Locks } from '../../src/locks.ts'
import movingClient, { houseAt, type MoveAddress } from './moving-client.ts'
import { answerCalls } from './answer-calls.ts'

export interface Call {
  readonly id: number
  readonly name: keyof typeof actions
  readonly args: readonly unknown[]
}

/** Where an instance locks. */
export type Mode = 'from' | 'both' | 'to'

/** What is found at the guarded resource. */
export interface Finds {
  /** Of each key. */
  readonly turns: Readonly<Record<string, number>>
  readonly complaints: readonly string[]
}

/** Nobody may be inside. Run behind a strict guard: it refuses every token that is not higher than all before. */
const ENTER = `
local inside = redis.call('GET', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1])
return inside or ''
`
const LEAVE = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`

const me = String(process.pid)
let resource: Redis
let guard: RedisFence
let locks: Locks
let working: Promise<unknown> = Promise.resolve()
let over = false
let turns: Record<string, number> = {}
const complaints: string[] = []

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function locksIn(mode: Mode, address: MoveAddress): Promise<Locks> {
  const store = mode === 'both' ? await movingClient(address) : await houseAt(address[mode])
  return createLocks(store, { service: mode, lease: '5s', wait: '30s', logger: null })
}

async function turn(key: string): Promise<void> {
  await locks.using(key, async (lease) => {
    const inside = `inside:${key}`
    const found = await guard.run(key, lease, ENTER, { keys: [inside], args: [me] })
    if (found !== '') complaints.push(`${me} met ${String(found)} at ${key}`)
    await sleep(Math.random() * 4)
    await resource.eval(LEAVE, 1, inside, me)
    turns[key] = (turns[key] ?? 0) + 1
  })
}

async function work(key: string): Promise<void> {
  while (!over) {
    try {
      await turn(key)
    } catch (error) {
      const { code } = error as { code?: string }
      // Its client was changed meanwhile.
      if (code !== 'CLOSED' && code !== 'LOCK_ABORTED') complaints.push(`${me} at ${key}: ${String(error)}`)
    }
    await sleep(Math.random() * 4)
  }
}

const actions = {
  async start(url: string, mode: Mode, address: MoveAddress, keys: readonly string[]): Promise<void> {
    resource = new Redis(url)
    guard = redisFence(resource, { strict: true })
    locks = await locksIn(mode, address)
    over = false
    turns = {}
    complaints.length = 0
    working = Promise.all(keys.map(work))
  },

  /** As a new version of the instance would, while all others go on. */
  async change(mode: Mode, address: MoveAddress): Promise<void> {
    const before = locks
    locks = await locksIn(mode, address)
    await before.close()
  },

  async who(): Promise<number> {
    return process.pid
  },

  async finds(): Promise<Finds> {
    return { turns, complaints }
  },

  async end(): Promise<Finds> {
    over = true
    await working
    await locks.close()
    resource.disconnect()
    return { turns, complaints }
  },
}

answerCalls(actions)
