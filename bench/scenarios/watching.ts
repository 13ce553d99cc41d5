import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { rmSync } from 'node:fs'
import type { Locks } from '../../src/index.ts'
import { percentile } from '../percentile.ts'
import type { Samples } from '../throughput.ts'
import { countedAndNot } from '../uncounted.ts'

const BLOCKS = 150
const CALLS = 4000
/** Blocks that do not count. */
const WARM_UP = 30
/** Of the blocks, from the fastest on: others on the machine only ever make one slower. */
const QUIET = 10

interface Client {
  readonly locks: Locks
  /** Around each of its blocks. */
  readonly begin?: () => void
  readonly end?: () => void
}

const nothing = (): void => {}

/**
 * What it costs to be watched, on the memory store: counting, and on top of it a listener, a subscriber of a diagnostics
 * channel, a tracer, each of which does nothing. They take turns with a block of calls each.
 */
async function watching(tasks: number, one: (locks: Locks, i: number) => Promise<unknown>): Promise<Samples> {
  const { folder, counted, uncounted } = await countedAndNot()
  const client = ({ createLocks, memoryStore }: typeof counted): Locks => createLocks(memoryStore())
  const clients: Record<string, Client> = {
    off: { locks: client(uncounted) },
    counting: { locks: client(counted) },
    listener: { locks: client(counted) },
    channel: {
      locks: client(counted),
      begin: () => subscribe('holdfast:granted', nothing),
      end: () => unsubscribe('holdfast:granted', nothing),
    },
    tracer: { locks: client(counted) },
  }
  clients['listener']?.locks.on('granted', nothing)
  clients['tracer']?.locks.trace({ acquiring: (_keys, run) => run(), holding: (_lease, run) => run() })
  const times: Record<string, number[]> = {}
  const turns = Object.entries(clients)
  let next = 0
  for (let block = -WARM_UP; block < BLOCKS; block += 1) {
    turns.push(...turns.splice(0, 1))
    for (const [name, { locks, begin, end }] of turns) {
      begin?.()
      const start = performance.now()
      const until = next + CALLS
      const loop = async (): Promise<void> => {
        while (next < until) await one(locks, next++)
      }
      await Promise.all(Array.from({ length: tasks }, loop))
      end?.()
      if (block >= 0) (times[name] ??= []).push(((performance.now() - start) * 1000) / CALLS)
    }
  }
  for (const { locks } of Object.values(clients)) await locks.close()
  rmSync(folder, { recursive: true, force: true })
  const {
    off = NaN,
    counting = NaN,
    ...more
  } = Object.fromEntries(Object.entries(times).map(([name, values]) => [name, percentile(values, QUIET)]))
  const percent = (us: number, over: number): number[] => [(us / over - 1) * 100]
  return {
    offUs: [off],
    counting: percent(counting, off),
    ...Object.fromEntries(Object.entries(more).map(([name, us]) => [name, percent(us, counting)])),
  }
}

export function distinctKeys(): Promise<Samples> {
  return watching(100, async (locks, i) => {
    const lease = await locks.acquire(`key ${i}`)
    await lease.release()
  })
}

const TURN = Promise.resolve()

export function oneKey(): Promise<Samples> {
  return watching(50, (locks) => locks.using('one key', () => TURN))
}
