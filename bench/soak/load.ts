import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Locks } from '../../src/index.ts'

const EVERY_MS = 100
/** Of each turn of the clock: 50 locks a second. */
const LOCKS = 5
const KNOWN = 100
const HOT = 5
/** Of those that wait for a hot key, some give up. */
const SHORT_WAIT_MS = 40
const STAY_MS = 15
/** Renewed several times. Long enough for a machine that has other things to do. */
const HELD_MS = 30_000
const HELD_LEASE_MS = 12_000
/** Enough for each bucket of Redis, and so for each node of a cluster. */
const STRETCHED = 200
const STRETCHES = 10
/** A server that stands still must not be asked for more and more. */
const MOST_AT_ONCE = 500

/** What has been done so far. */
export interface Done {
  locks: number
  newKeys: number
  /** Gave up waiting, as it should. */
  timeouts: number
  /** Not asked for, since too many were under way. */
  skipped: number
  /** By code, with the message of the first. */
  failures: Record<string, { count: number; first: string }>
}

/**
 * A steady load of two clients that know nothing of each other: keys that are new each time, some that come again, a few
 * that many want, and some that are held and renewed.
 */
export class Load {
  readonly done: Done = { locks: 0, newKeys: 0, timeouts: 0, skipped: 0, failures: {} }
  readonly #clients: readonly Locks[]
  readonly #short = new Set<Promise<void>>()
  readonly #long = new Set<Promise<void>>()
  readonly #stop = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #next = 0

  constructor(clients: readonly Locks[]) {
    this.#clients = clients
    setMaxListeners(0, this.#stop.signal)
  }

  /**
   * What is opened when it is first needed is open from now on: pools are as large as they get, and each client listens
   * wherever it may have to. Else the first busy moment would look like growth.
   */
  async stretch(): Promise<void> {
    const keys = Array.from({ length: STRETCHED }, (_, i) => `stretched:${i}`)
    const each = (locks: Locks): Promise<unknown>[] =>
      keys.map((key) => locks.using(key, { wait: '60s' }, () => sleep(STAY_MS)))
    for (let i = 0; i < STRETCHES; i += 1) await Promise.all(this.#clients.flatMap(each))
  }

  start(): void {
    this.#timer = setInterval(() => {
      for (let i = 0; i < LOCKS; i += 1) this.#one()
    }, EVERY_MS)
  }

  /** Only those that hold a key for long are left when this resolves. */
  async pause(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all(this.#short)
  }

  async stop(): Promise<void> {
    await this.pause()
    this.#stop.abort()
    await Promise.all(this.#long)
  }

  #one(): void {
    const n = this.#next++
    const locks = this.#clients[Math.floor(n / 10) % this.#clients.length] as Locks
    if (this.#short.size >= MOST_AT_ONCE) {
      this.done.skipped += 1
      return
    }
    const kind = n % 10
    if (n % 20 === 0) this.#run(this.#long, this.#hold(locks, n))
    else this.#run(this.#short, this.#brief(locks, kind, n))
  }

  async #brief(locks: Locks, kind: number, n: number): Promise<void> {
    const hot = `hot:${n % HOT}`
    if (kind < 5) {
      this.done.newKeys += 1
      await (await locks.acquire(`new:${n}`)).release()
    } else if (kind === 5) {
      await (await locks.acquire([`known:${n % KNOWN}`, `known:${(n + 7) % KNOWN}`])).release()
    } else if (kind === 6) {
      await (await locks.tryAcquire(hot))?.release()
    } else {
      const wait = kind === 7 ? { wait: SHORT_WAIT_MS } : { wait: '10s' as const }
      await locks.using(hot, wait, () => sleep(STAY_MS))
    }
  }

  async #hold(locks: Locks, n: number): Promise<void> {
    this.done.newKeys += 1
    const lease = await locks.acquire(`held:${n}`, { lease: HELD_LEASE_MS })
    // Its own timers are not among the handles that are counted.
    const { signal } = this.#stop
    await sleep(HELD_MS, undefined, { signal, ref: false }).catch(() => undefined)
    await lease.release()
  }

  #run(under: Set<Promise<void>>, work: Promise<void>): void {
    const task = work.then(
      () => void (this.done.locks += 1),
      (error: unknown) => this.#failed(error),
    )
    under.add(task)
    void task.then(() => under.delete(task))
  }

  #failed(error: unknown): void {
    // The class is that of the built package, not that of the source.
    const { code = 'none', message } = error as Error & { code?: string }
    if (code === 'LOCK_ACQUIRE_TIMEOUT') this.done.timeouts += 1
    else (this.done.failures[code] ??= { count: 0, first: message }).count += 1
  }
}
