import { setTimeout as sleep } from 'node:timers/promises'
import { LockError } from '../../../src/errors.ts'
import type { Lease } from '../../../src/lease.ts'
import type { Locks } from '../../../src/locks.ts'
import type { Random } from '../../simulation/random.ts'
import type { EventLoop } from './event-loop.ts'
import { type HistoryWriter, now } from '../history.ts'
import type { ResourceClient } from './resource-client.ts'

/** Of one worker, at the same time. */
export const TASKS = 4
const HOT_KEYS = 3
const COLD_KEYS = 30
/** Short, so that a fault of some seconds is longer. Mostly the same: only then a key is passed on inside a process. */
const LEASES_MS = [2000, 2000, 2000, 1500, 3000] as const
export const LONGEST_LEASE_MS: number = Math.max(...LEASES_MS)
const WAITS_MS = [200, 8000] as const
const LONGEST_WAIT_MS = 15_000

interface Parts {
  readonly name: string
  readonly locks: Locks
  readonly resource: ResourceClient
  readonly history: HistoryWriter
  readonly loop: EventLoop
  readonly pauseMs: number
}

interface Terms {
  readonly keys: readonly string[]
  readonly waitMs: number
  readonly leaseMs: number
  readonly renew: boolean
}

/** What the tasks of a worker do until they are stopped, by dice that a seed has thrown. */
export class Tasks {
  readonly #parts: Parts
  readonly #stopping = new AbortController()
  #ids = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async run(random: Random): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      // As those who come by chance do: most soon after each other, some long after.
      const pauseMs = -Math.log(1 - random.next()) * this.#parts.pauseMs
      await sleep(pauseMs, null, { signal }).catch(() => {})
      if (!signal.aborted) await this.#turn(random)
    }
  }

  /** No one asks any more; who holds or waits comes to an end. */
  stop(): void {
    this.#stopping.abort()
  }

  async #turn(random: Random): Promise<void> {
    const how = random.weighted([
      [40, 'acquire'],
      [15, 'try'],
      [30, 'using'],
      [15, 'several'],
    ] as const)
    const terms: Terms = {
      keys: how === 'several' ? twoKeys(random) : [oneKey(random)],
      waitMs: how === 'try' ? 0 : waitOf(random),
      leaseMs: random.pick(LEASES_MS),
      renew: !random.chance(0.15),
    }
    if (how === 'using') await this.#using(random, terms)
    else await this.#holding(random, terms, how)
  }

  async #holding(random: Random, terms: Terms, how: 'acquire' | 'try' | 'several'): Promise<void> {
    const { locks, history } = this.#parts
    const { keys, waitMs, leaseMs, renew } = terms
    const id = this.#ask(how, terms)
    const options = { lease: leaseMs, renew, signal: givesUp(random, waitMs) }
    const key = keys.length === 1 ? (keys[0] ?? '') : keys
    let lease: Lease | null
    try {
      lease = await (how === 'try'
        ? locks.tryAcquire(key, options)
        : locks.acquire(key, { ...options, wait: waitMs }))
    } catch (error) {
      return history.note({ is: 'refused', id, code: codeOf(error) })
    }
    if (!lease) return history.note({ is: 'refused', id, code: 'busy' })
    this.#granted(id, terms, lease)
    await this.#work(random, id, terms, lease)
    history.note({ is: 'release', id })
    try {
      history.note({ is: 'released', id, ok: await lease.release() })
    } catch (error) {
      history.note({ is: 'released', id, ok: null, code: codeOf(error) })
    }
  }

  async #using(random: Random, terms: Terms, outer = false): Promise<void> {
    const { locks, history } = this.#parts
    const { keys, waitMs, leaseMs, renew } = terms
    const id = this.#ask(outer ? 're-enter' : 'using', terms)
    const options = { wait: waitMs, lease: leaseMs, renew, signal: givesUp(random, waitMs) }
    let inside = false
    try {
      await locks.using(keys[0] ?? '', outer ? { wait: waitMs } : options, async (lease) => {
        inside = true
        this.#granted(id, terms, lease)
        await this.#work(random, id, terms, lease)
        if (!outer && random.chance(0.5)) await this.#using(random, terms, true)
        history.note({ is: 'release', id })
      })
      history.note({ is: 'released', id, ok: true })
    } catch (error) {
      if (inside) history.note({ is: 'released', id, ok: null, code: codeOf(error) })
      else history.note({ is: 'refused', id, code: codeOf(error) })
    }
  }

  #ask(how: 'acquire' | 'try' | 'using' | 're-enter' | 'several', { keys, waitMs, leaseMs }: Terms): number {
    this.#ids += 1
    this.#parts.history.note({ is: 'ask', id: this.#ids, how, keys, waitMs, leaseMs })
    return this.#ids
  }

  #granted(id: number, { keys }: Terms, lease: Lease): void {
    const { history } = this.#parts
    history.note({ is: 'granted', id, tokens: keys.map((key) => String(lease.tokenFor(key))) })
    const lost = (): void => history.note({ is: 'lost', id })
    if (lease.signal.aborted) lost()
    else lease.signal.addEventListener('abort', lost, { once: true })
  }

  /** Acts now and then for as long as it holds; one that does not listen to the signal goes on after it. */
  async #work(random: Random, id: number, { keys, leaseMs }: Terms, lease: Lease): Promise<void> {
    const holdMs = random.weighted([
      [45, 0],
      [40, random.between(0, 150)],
      [10, random.between(0, leaseMs)],
      [3, random.between(leaseMs, 2 * leaseMs)],
    ] as const)
    const listens = random.chance(0.7)
    const end = now() + holdMs
    do {
      await this.#act(random, id, random.pick(keys), lease)
      if (random.chance(0.002)) this.#parts.loop.block(random.between(0.5, 1.5) * leaseMs)
      const gapMs = Math.min(Math.max(0, end - now()), random.between(1, 200))
      if (gapMs > 0) await sleep(gapMs)
    } while (now() < end && !(listens && lease.signal.aborted))
  }

  async #act(random: Random, id: number, key: string, lease: Lease): Promise<void> {
    const { name: worker, history, resource } = this.#parts
    const token = String(lease.tokenFor(key))
    const at = now()
    const { held } = lease
    history.note({ is: 'act', id, key, token, held }, at)
    if (!held) return
    // What no lock can prevent: between the look and the write, time passes.
    if (random.chance(0.03)) await sleep(random.between(10, 3500))
    const answer = await resource.write({ worker, id, key, token })
    history.note({ is: 'acted', id, key, answer })
  }
}

function oneKey(random: Random): string {
  return random.chance(0.6)
    ? `hot-${random.integer(1, HOT_KEYS)}`
    : `cold-${String(random.integer(1, COLD_KEYS)).padStart(2, '0')}`
}

function waitOf(random: Random): number {
  return random.chance(0.1) ? LONGEST_WAIT_MS : Math.round(random.between(...WAITS_MS))
}

function twoKeys(random: Random): string[] {
  const first = oneKey(random)
  let second = oneKey(random)
  while (second === first) second = oneKey(random)
  return [first, second]
}

function givesUp(random: Random, waitMs: number): AbortSignal | undefined {
  return random.chance(0.08) ? AbortSignal.timeout(Math.ceil(random.between(0, waitMs))) : undefined
}

function codeOf(error: unknown): string {
  if (error instanceof LockError) return error.code
  // A mistake of this program, not of what it tests: it must not pass unseen.
  throw error
}
