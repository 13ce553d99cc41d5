import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks, type Locks } from '../../src/locks.ts'
import { ServerFolder } from '../servers/server-folder.ts'
import { Random } from '../simulation/random.ts'
import type { Arena, OpenArena } from './arenas/arena.ts'
import { Crew } from './crew.ts'
import { HistoryWriter, type Listed, now } from './history.ts'
import { Nemesis } from './nemesis/index.ts'
import { patiently } from './nemesis/server-strikes.ts'
import { Network } from './network.ts'
import { Resource } from './resource.ts'
import { LONGEST_LEASE_MS, TASKS } from './worker/tasks.ts'

export interface RoundOptions {
  readonly openArena: OpenArena
  readonly seed: number
  readonly ms: number
  readonly workers: number
  /** Operations a second, of all workers, if none of them took any time. */
  readonly rate: number
}

/** The last part of a round is without faults: everything that waits must come to its turn. */
const CALM_MS = 20_000
const LOOKS_MS = 500
/** From the last exit on: a call that was under way then may still come, and be granted for a lease. */
const LATEST_MS = 10_000 + LONGEST_LEASE_MS

/**
 * `judge` has the folder of the history, which is gone after that; and what kept the round from its end, or null. A round
 * that fails shows what it has seen all the same.
 */
export async function playRound<T>(
  options: RoundOptions,
  judge: (folder: string, failure: unknown) => Promise<T>,
): Promise<T> {
  // Its workers end with this process, stopped ones included.
  const folder = new ServerFolder('torture', 'SIGKILL', undefined)
  const histories = join(folder.path, 'history')
  mkdirSync(histories)
  let arena: Arena | undefined
  try {
    arena = await options.openArena(histories)
    const failure = await play(options, arena, folder, histories).then(
      () => null,
      (error: unknown) => error,
    )
    arena.keepLogs()
    return await judge(histories, failure)
  } finally {
    await arena?.stop()
    await folder.remove()
  }
}

async function play(
  { seed, ms, workers, rate }: RoundOptions,
  arena: Arena,
  folder: ServerFolder,
  histories: string,
): Promise<void> {
  const random = new Random(seed, 'nemesis')
  const history = new HistoryWriter(histories, 'nemesis')
  const resourceHistory = new HistoryWriter(histories, 'resource')
  const socket = join(folder.path, 'resource')
  const resource = await Resource.listen(socket, resourceHistory)
  const network = await Network.open(workers, arena.ports)
  const locks = createLocks(arena.url, { logger: null })
  const crew = new Crew({
    history,
    watchOver: (pids) => folder.watchOver(pids),
    orders: (place) => ({
      ...{ seed, folder: histories, resource: socket, detours: network.detours(place) },
      address: arena.addresses[place % arena.addresses.length] as (typeof arena.addresses)[number],
      pauseMs: (workers * TASKS * 1000) / rate,
    }),
  })
  const nemesis = new Nemesis({ random, arena, crew, network, history, locks })
  const over = new AbortController()
  const watching = nemesis.watch(over.signal)
  try {
    await crew.muster(workers)
    const calmMs = Math.min(CALM_MS, 0.3 * ms)
    await nemesis.rage(ms - calmMs)
    history.note({ is: 'calm' })
    await sleep(calmMs)
    await watched(crew.end(), history, locks)
    history.note({ is: 'left', locks: await left(locks) })
    crew.assertStarted()
    network.assertUsed()
  } finally {
    over.abort()
    await watching
    await crew.abandon()
    await locks.close()
    network.close()
    resource.close()
    history.close()
    resourceHistory.close()
  }
}

/** Looks at the store as the workers end, and when the last one has: a lease later it is too late to see what one left. */
async function watched(ending: Promise<void>, history: HistoryWriter, locks: Locks): Promise<void> {
  let ended = false
  const end = ending.then(() => {
    ended = true
  })
  try {
    for (let isLast = false; !isLast; await Promise.race([end, sleep(LOOKS_MS)])) {
      isLast = ended
      const at = now()
      history.note({ is: 'listed', locks: await patiently(() => held(locks)) }, at)
    }
  } finally {
    await end
  }
}

/** What is held when the leases of the dead have run out, looked at again while there may be a reason for it. */
async function left(locks: Locks): Promise<Listed[]> {
  const end = now() + LATEST_MS
  await sleep(LONGEST_LEASE_MS)
  for (;;) {
    const isLast = now() >= end
    const found = await patiently(() => held(locks))
    if (isLast || found.length === 0) return found
    await sleep(LOOKS_MS)
  }
}

async function held(locks: Locks): Promise<Listed[]> {
  const all: Listed[] = []
  for (let after: string | null | undefined; after !== null;) {
    const { locks: found, next } = await locks.list({
      limit: 1000,
      ...(after === undefined ? {} : { after }),
    })
    all.push(...found.map(({ key, grant, holder }) => ({ key, by: holder.instance, grant })))
    after = next
  }
  return all
}
