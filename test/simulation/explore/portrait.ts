import { hash } from 'node:crypto'
import { LockError } from '../../../src/errors.ts'
import type { Attempt } from '../attempt.ts'
import type { Event } from '../event-queue.ts'
import type { Scene } from '../scene.ts'
import { SimulatedProcess } from '../simulated-process.ts'
import { LEASE_MS } from './case.ts'
import type { ExploredNetwork, Message } from './explored-network.ts'
import type { ExploredProcess } from './explored-process.ts'
import type { ExploredWorld } from './explored-world.ts'

/**
 * What never changes, what core only counts and tells, and what decides nothing in these cases: the options,
 * which are alike; when a wait or a lease began; when a token was raised; the mean latency, since courtesy is as
 * long as it can be.
 */
const SKIPPED: ReadonlySet<string> = new Set([
  ...['private_connection', 'private_openWatch', 'private_since', 'private_step'],
  ...['crowd', 'env', 'journal', 'pace', 'promise', 'request', 'rotatedAt'],
])

/** A call this old is neither waited for nor, by the ledger, reckoned with. */
const FORGOTTEN_MS = 2 * LEASE_MS

interface Exposed {
  readonly private_workings: { readonly room: object }
}

interface Drawn extends Scene {
  readonly world: ExploredWorld
  readonly network: ExploredNetwork
  readonly processes: readonly ExploredProcess[]
}

/**
 * All that decides what can happen from here on, and nothing else: two moments with the same portrait have
 * the same future. Times are told by how far they are away, owners and grants by their order.
 */
export function portraitOf(scene: Drawn): string {
  return new Portrait(scene).digest
}

class Portrait {
  readonly #scene: Drawn
  readonly #parts: (string | number)[] = []
  readonly #grants: { readonly at: number; readonly grant: number }[] = []
  readonly #owners = new Map<string, number>()
  readonly #seen = new Map<object, number>()
  #offset = 0
  #now = 0

  constructor(scene: Drawn) {
    this.#scene = scene
    for (const process of scene.processes) this.#process(process)
    this.#server()
    for (const message of scene.network.messages.toSorted(byName)) this.#message(message)
    for (const [owner, number] of this.#owners) this.#book(owner, number)
  }

  get digest(): string {
    const ranks = new Map(
      [...new Set(this.#grants.map(({ grant }) => grant))]
        .sort((a, b) => a - b)
        .map((grant, rank) => [grant, rank]),
    )
    for (const { at, grant } of this.#grants) this.#parts[at] = `grant ${ranks.get(grant)}`
    return hash('sha1', this.#parts.join('\n'), 'base64')
  }

  #process(process: ExploredProcess): void {
    const { world, ledger, locks } = this.#scene
    if (process.crashed) {
      this.#parts.push('crashed')
      return
    }
    this.#offset = process.plan.clockOffset
    this.#now = process.clockAt(world.time)
    this.#parts.push('process', Math.max(0, process.busyUntil - world.time))
    for (const event of world.plannedFor(process)) this.#parts.push(event.time - world.time)
    for (const attempt of ledger.attempts) {
      if (attempt.process === process && attempt.settledAt === undefined) this.#attempt(attempt)
    }
    this.#value((locks[process.index] as unknown as Exposed).private_workings.room)
  }

  #attempt({ name, enteredAt, leftAt, toldAt, lease, userError }: Attempt): void {
    this.#parts.push(
      name,
      ...[enteredAt, leftAt, toldAt, userError].map((each) => (each === undefined ? 0 : 1)),
    )
    this.#value(lease)
  }

  #server(): void {
    const { network, world } = this.#scene
    const { store } = network.server
    this.#offset = network.server.clockAt(0)
    this.#now = network.server.clockAt(world.time)
    for (const key of [...store.records.keys()].sort()) {
      const record = store.records.get(key)
      if (!record) continue
      this.#parts.push(
        key,
        this.#owner(record.owner),
        record.leaseMs,
        record.expiresAt - this.#now,
        record.wanted ? 1 : 0,
      )
      this.#value(record.grant)
    }
    this.#parts.push(network.subscribers)
  }

  #message({ name, to, call, content, late, isCopy }: Message): void {
    this.#parts.push('message', call?.step ?? name, to?.index ?? 'server', `${late} ${isCopy}`)
    if (!call) return
    this.#parts.push(Math.max(call.sentAt - this.#scene.world.time, -FORGOTTEN_MS))
    for (const { key, owner, leaseMs } of call.items) this.#parts.push(key, this.#owner(owner), leaseMs ?? 0)
    this.#value(content)
  }

  #book(owner: string, number: number): void {
    const book = this.#scene.ledger.owners.get(owner)
    if (!book) return
    const now = book.process.clockAt(this.#scene.world.time)
    const { refused, surelyRefused, disturbed, grantedByCopy } = book
    const left = [book.deadline, book.sureDeadline].map((deadline) => Math.max(deadline - now, -1))
    this.#parts.push('book', number, ...left, [refused, surelyRefused, disturbed, grantedByCopy].join())
  }

  #owner(owner: string): number {
    const known = this.#owners.get(owner)
    if (known !== undefined) return known
    this.#owners.set(owner, this.#owners.size)
    return this.#owners.size - 1
  }

  #value(value: unknown): void {
    if (typeof value === 'number') this.#number(value)
    else if (typeof value === 'bigint') {
      this.#number(Number(value / 1024n))
      this.#parts.push(Number(value % 1024n))
    } else if (typeof value === 'string')
      this.#parts.push(value.startsWith('owner ') ? this.#owner(value) : value)
    else if (typeof value === 'object' && value !== null) this.#object(value)
    else if (typeof value !== 'function') this.#parts.push(String(value))
  }

  #number(value: number): void {
    if (value > 1e15 && value < Infinity) {
      this.#grants.push({ at: this.#parts.length, grant: value })
      this.#parts.push('')
    } else this.#parts.push(Math.abs(value - this.#offset) < 1e7 ? `at ${value - this.#now}` : value)
  }

  #object(value: object): void {
    const known = this.#seen.get(value)
    if (known !== undefined) {
      this.#parts.push(`as ${known}`)
      return
    }
    this.#seen.set(value, this.#seen.size)
    if (value instanceof LockError) this.#parts.push(value.code)
    else if (value instanceof AbortSignal) this.#parts.push(String(value.aborted))
    else if (value instanceof Promise || value instanceof SimulatedProcess) return
    else if ('cancelled' in value) this.#parts.push((value as Event).time - this.#scene.world.time)
    else if (value instanceof Map) for (const [key, each] of value) this.#pair(String(key), each)
    else if (value instanceof Set) for (const each of value) this.#value(each)
    else this.#fields(value as Record<string, unknown>)
  }

  #fields(value: Record<string, unknown>): void {
    const phase = value['private_phase']
    for (const name of Object.keys(value)) {
      // A line keeps the times of phases that are over, and of a denial it only uses that there was one.
      if (name === 'private_calledAt' && phase !== 'asking' && phase !== 'leaving') continue
      if (name === 'private_courteousUntil' && phase !== 'courteous') continue
      if (name === 'private_denial') this.#parts.push(String(value[name] === null))
      else this.#pair(name, value[name])
    }
  }

  #pair(name: string, value: unknown): void {
    if (SKIPPED.has(name) || typeof value === 'function') return
    this.#parts.push(name.startsWith('owner ') ? this.#owner(name) : name)
    this.#value(value)
  }
}

function byName(a: Message, b: Message): number {
  return a.name < b.name ? -1 : 1
}
