import { afterAll, afterEach } from 'vitest'
import { createLocks, type Locks } from '../../src/locks.ts'
import type { LocksOptions } from '../../src/options.ts'
import type { LockPage, LockRecord, Store } from '../../src/store.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { tcpProxy, type TcpProxy } from '../servers/tcp-proxy.ts'

const endings: (() => unknown)[] = []
const networks: TcpProxy[] = []
const lastEndings: (() => unknown)[] = []

afterEach(async () => {
  // First: some drivers wait for a dead connection to end, for ever.
  for (const proxy of networks.splice(0)) proxy.close()
  for (const end of endings.splice(0).reverse()) await end()
})

afterAll(async () => {
  for (const end of lastEndings.splice(0).reverse()) await end()
})

export function atEnd(end: () => unknown): void {
  endings.push(end)
}

/** After the last test of the file. */
export function atLast(end: () => unknown): void {
  lastEndings.push(end)
}

/** Closed after the test. */
export function memoryLocks(options: LocksOptions = {}): Locks {
  return locksOn(memoryStore(), options)
}

/** Closed after the test. */
export function locksOn(store: Store, options: LocksOptions = {}): Locks {
  const locks = createLocks(store, { logger: null, ...options })
  atEnd(() => locks.close())
  return locks
}

/** All that is held, page by page: one may be short, and is if the server was slow. */
export async function heldOn(locks: Locks, prefix = ''): Promise<LockRecord[]> {
  const records: LockRecord[] = []
  let after: string | null | undefined
  while (after !== null) {
    const page: LockPage = await locks.list({ prefix, limit: 1000, after })
    records.push(...page.locks)
    after = page.next
  }
  return records
}

/** The network before a server, gone after the test. */
export async function proxyTo(url: string): Promise<{ proxy: TcpProxy; url: string }> {
  const target = new URL(url)
  const proxy = await tcpProxy(Number(target.port))
  networks.push(proxy)
  target.port = String(proxy.port)
  return { proxy, url: target.href }
}

/** What a promise was rejected with. */
export async function failureOf(call: Promise<unknown>): Promise<Error & { code?: string }> {
  const result = await call.then(
    () => undefined,
    (error: Error) => error,
  )
  if (!result) throw new Error('this should have failed')
  return result
}

/**
 * The same, if it comes in time: by a timer beside those of the call. A process that stands still runs all of them late,
 * but in order, where a clock would blame the call.
 */
export async function failureWithin(
  limitMs: number,
  call: Promise<unknown>,
): Promise<Error & { code?: string }> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no failure within ${limitMs} ms`)), limitMs)
  })
  return Promise.race([failureOf(call), late]).finally(() => clearTimeout(timer))
}

/** Waits for a condition, not for a guess of time. */
export async function until(what: string, holds: () => unknown, capMs = 20_000): Promise<void> {
  const end = performance.now() + capMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited in vain for: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** A key that one process holds and another waits for, until it is freed; that resolves to the time it took. */
export async function holdAndWait(
  holders: Locks,
  waiters: Locks,
  key: string,
): Promise<{ free(): Promise<number> }> {
  const lease = await holders.acquire(key)
  const turn = waiters.acquire(key, { wait: '30s' }).then(async (next) => {
    const at = performance.now()
    await next.release()
    return at
  })
  turn.catch(() => {})
  await until('the waiter', async () => (await holders.inspect(key))?.wanted)
  return {
    async free() {
      const start = performance.now()
      await lease.release()
      // How long the store takes to write is no part of it, but for one that answers when it has told. The message may even be
      // faster than the answer.
      const from = performance.now()
      if (from - start > 3000) throw new Error(`a release took ${from - start} ms`)
      return (await turn) - from
    },
  }
}
