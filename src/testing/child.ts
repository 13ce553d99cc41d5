import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { inspect } from 'node:util'
import type { Lease } from '../lease.ts'
import { createLocks, type Locks } from '../locks.ts'
import type { Store } from '../store.ts'
import { turn } from './timing.ts'

/**
 * The program of a child process in the suite: makes a store with the author's module and does what
 * the parent says, one message at a time. `processes.ts` is the other end.
 */
export interface Setup {
  readonly module: string
  readonly argument: unknown
  readonly leaseMs: number
  readonly waitMs: number
}

export type Order =
  | { readonly do: 'acquire'; readonly key: string; readonly leaseMs?: number; readonly renew?: boolean }
  | { readonly do: 'release'; readonly key: string }
  | ({ readonly do: 'count'; readonly key: string; readonly tasks: number; readonly rounds: number } & Files)
  | { readonly do: 'close' }

/** Shared by all processes. Nothing but the lock protects `counter`. */
export interface Files {
  readonly counter: string
  readonly log: string
}

export interface Report {
  /** Absent in the first message, which says that the process is ready. */
  readonly order?: number
  readonly token?: string
  readonly released?: boolean
  readonly error?: string
}

const leases = new Map<string, Lease>()

async function obey(locks: Locks, order: Order): Promise<Omit<Report, 'order'>> {
  if (order.do === 'acquire') {
    const { leaseMs: lease, renew } = order
    const options = { ...(lease === undefined ? {} : { lease }), ...(renew === undefined ? {} : { renew }) }
    const held = await locks.acquire(order.key, options)
    leases.set(order.key, held)
    return { token: String(held.token) }
  }
  if (order.do === 'release') {
    return { released: (await leases.get(order.key)?.release()) ?? false }
  }
  if (order.do === 'count') {
    await Promise.all(Array.from({ length: order.tasks }, () => count(locks, order)))
    return {}
  }
  await locks.close()
  return {}
}

/** Adds one to the number in the file, the way that loses updates if two do it at once. */
async function count(locks: Locks, { key, rounds, counter, log }: Order & { do: 'count' }): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    await locks.using(key, async (lease) => {
      await appendFile(log, `in ${lease.token}\n`)
      const before = Number(await readFile(counter, 'utf8'))
      await turn()
      await writeFile(counter, String(before + 1))
      await appendFile(log, `out ${lease.token}\n`)
    })
  }
}

const send = (report: Report): void => void process.send?.(report)

// The parent is gone: nobody is left to end this process.
process.once('disconnect', () => process.exit(1))

const setup = JSON.parse(process.argv[2] ?? '') as Setup
const { default: createStore } = (await import(setup.module)) as {
  default: (argument: unknown) => Store | Promise<Store>
}
const locks = createLocks(await createStore(setup.argument), {
  service: 'conformance',
  lease: setup.leaseMs,
  wait: setup.waitMs,
  callTimeout: setup.waitMs,
  logger: null,
})

process.on('message', ({ id, order }: { id: number; order: Order }) => {
  obey(locks, order).then(
    (report) => {
      send({ order: id, ...report })
      if (order.do !== 'close') return
      // Only what the store or the client left open can keep the process alive from here on.
      process.removeAllListeners('disconnect')
      process.disconnect()
    },
    (error: unknown) => send({ order: id, error: inspect(error) }),
  )
})
send({})
