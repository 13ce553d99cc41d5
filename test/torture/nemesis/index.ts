import { setTimeout as sleep } from 'node:timers/promises'
import type { Locks } from '../../../src/locks.ts'
import type { Random } from '../../simulation/random.ts'
import type { Arena } from '../arenas/arena.ts'
import type { Crew } from '../crew.ts'
import { type HistoryWriter, now } from '../history.ts'
import type { Network } from '../network.ts'
import type { Strike } from './strike.ts'
import { networkStrike, workerStrike } from './worker-strikes.ts'

const GAPS_MS = [500, 3000] as const
const REST_MS = 4000
const LOOKS_MS = 500
/** How many workers suffer at the same time. */
const SUFFERING = 3

interface Stage {
  readonly random: Random
  readonly arena: Arena
  readonly crew: Crew
  readonly network: Network
  readonly history: HistoryWriter
  /** Of one who looks on, for forced releases. */
  readonly locks: Locks
}

/**
 * Does harm for as long as it is let, by dice that a seed has thrown; often several things at once. What it does ends
 * within seconds, and all of it is written down before it begins and after it has ended.
 */
export class Nemesis {
  readonly #stage: Stage
  readonly #underWay = new Set<Promise<void>>()
  /** Servers, the network of all, and single workers: each suffers one thing at a time, and some rest after it. */
  readonly #hit = new Set<string>()
  /** Those under way by which a store may forget: they change who leads whom, and say so themselves. */
  readonly #losing = new Set<Strike>()
  #numbers = 0
  #failure: unknown

  constructor(stage: Stage) {
    this.#stage = stage
  }

  /** Resolves when all is healed. */
  async rage(ms: number): Promise<void> {
    const end = now() + ms
    while (now() < end) {
      if (this.#failure) break
      this.#one()
      await sleep(Math.min(this.#stage.random.between(...GAPS_MS), Math.max(1, end - now())))
    }
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
    if (this.#failure) throw new Error('a fault could not be healed', { cause: this.#failure })
  }

  #one(): void {
    const { random, arena, crew, network } = this.#stage
    const networked = arena.ports.length > 0
    const worker = random.pick(crew.workers)
    const kind = random.weighted([
      [3, 'server'],
      [networked ? 1 : 0, 'network'],
      [5, 'worker'],
      [2, 'evict'],
    ] as const)
    if (kind === 'evict') return this.#keep(this.#evict())
    const place = kind === 'worker' ? worker.name : kind
    const suffering = [...this.#hit].filter((one) => one.startsWith('w')).length
    if (this.#hit.has(place) || (kind === 'worker' && suffering >= SUFFERING)) return
    const strike =
      kind === 'server'
        ? arena.strike(random)
        : kind === 'network'
          ? networkStrike(random, network)
          : workerStrike(random, worker, { crew, network, networked })
    this.#hit.add(place)
    this.#keep(this.#carryOut(strike).then(() => this.#rest(place, kind === 'worker' ? 0 : REST_MS)))
  }

  #keep(work: Promise<void>): void {
    this.#underWay.add(work)
    void work.catch((error: unknown) => (this.#failure ??= error)).then(() => this.#underWay.delete(work))
  }

  /** What hits all is followed by a time in which work gets on. */
  #rest(place: string, ms: number): void {
    setTimeout(() => this.#hit.delete(place), ms).unref()
  }

  async #carryOut(strike: Strike): Promise<void> {
    const { history } = this.#stage
    this.#numbers += 1
    const { fault, target, loses } = strike
    const entry = { is: 'fault', fault, target, loses, number: this.#numbers } as const
    history.note({ ...entry, phase: 'begin' })
    if (loses) this.#losing.add(strike)
    await strike.begin()
    await sleep(strike.ms)
    await strike.end()
    this.#losing.delete(strike)
    history.note({ ...entry, phase: 'end' })
  }

  /** A forced release of something that is held, on the strength of a look at it or without. */
  async #evict(): Promise<void> {
    const { random, locks, history } = this.#stage
    const guarded = random.chance(0.5)
    const chance = random.next()
    try {
      const held = (await locks.list({ limit: 100 })).locks
      const one = held[Math.floor(chance * held.length)]
      if (!one) return
      this.#numbers += 1
      const entry = { is: 'evict', key: one.key, number: this.#numbers } as const
      history.note({ ...entry, phase: 'begin', grant: null })
      const gone = await locks
        .forceRelease(one.key, guarded ? { grant: one.grant } : {})
        .catch(() => undefined)
      history.note({ ...entry, phase: 'end', grant: gone === undefined ? null : (gone?.grant ?? 0) })
    } catch {
      // The server is away.
    }
  }

  /**
   * On a machine with much to do, servers may take each other for dead: then they forget as by a fault of ours. That may be
   * seconds after the last of ours.
   */
  async watch(over: AbortSignal): Promise<void> {
    const { arena, history } = this.#stage
    let seen: { readonly roles: string; readonly at: number } | undefined
    while (arena.roles && !over.aborted) {
      await sleep(LOOKS_MS, null, { signal: over }).catch(() => {})
      const at = now()
      const roles = await arena.roles().catch(() => undefined)
      const isStruck = this.#losing.size > 0
      if (isStruck) seen = undefined
      if (isStruck || roles === undefined) continue
      if (seen && seen.roles !== roles) {
        this.#numbers += 1
        const fault = { is: 'fault', fault: 'fail-over by itself', target: 'all', loses: true } as const
        history.note({ ...fault, number: this.#numbers, phase: 'begin' }, seen.at)
        history.note({ ...fault, number: this.#numbers, phase: 'end' })
      }
      seen = { roles, at }
    }
  }
}
