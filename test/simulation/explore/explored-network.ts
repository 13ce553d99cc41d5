import type { Claim, LockPage, LockRecord, Store, Watch } from '../../../src/store.ts'
import type { Fact } from '../facts.ts'
import { Network } from '../network.ts'
import type { Call, CallItem, StepName } from '../network.ts'
import type { Schedule } from '../schedule.ts'
import type { SimulatedProcess } from '../simulated-process.ts'
import type { ExploredWorld } from './explored-world.ts'

/** On its way, until somebody decides what becomes of it. */
export interface Message {
  /** The same in every run in which the same process sent the same. */
  readonly name: string
  /** Null: the server. */
  readonly to: SimulatedProcess | null
  readonly keys: readonly string[]
  /** What its receiver sees of it. */
  readonly content: unknown
  /** Null: word of a key that came free. */
  readonly call: Call | null
  readonly deliver: () => void
  /** The connection breaks instead: its sender, or the one it is for, is told so. */
  readonly fail: (() => void) | null
  /** Held back: it may come at any time from now on, or never. */
  late: boolean
  readonly isCopy: boolean
}

/** A network on which nothing moves by itself. */
export class ExploredNetwork extends Network {
  messages: Message[] = []
  readonly #world: ExploredWorld
  readonly #note: (fact: Fact) => void
  readonly #subscriptions = new Map<SimulatedProcess, Set<string>>()
  readonly #pushes = new Map<SimulatedProcess, (key: string) => void>()
  readonly #watches = new Map<number, number>()
  readonly #sent = new Map<SimulatedProcess, number>()

  constructor(world: ExploredWorld, schedule: Schedule, note: (fact: Fact) => void) {
    super(world, schedule, note)
    this.#world = world
    this.#note = note
  }

  override connect(process: SimulatedProcess, push: boolean): Store {
    const { store } = this.server
    const send = <T>(step: StepName, items: readonly CallItem[], execute: (call: Call) => T): Promise<T> =>
      this.#send(process, step, items, execute)
    const remote: Store = {
      name: 'model',
      // Opening is tried by the random schedules.
      open: async () => {},
      acquire: (asks) => send('acquire', asks, (call) => asks.map((ask) => store.acquire(ask, call.number))),
      renew: (renewals) => send('renew', renewals, () => renewals.map((renewal) => store.renew(renewal))),
      release: (claims) => send('release', claims, () => claims.map((claim) => this.#release(claim))),
      list: (query) => send('list', [], (): LockPage => store.list(query)),
      evict: (key, grant) =>
        send('evict', [{ key, owner: '' }], (): LockRecord | null => store.evict(key, grant)),
      close: async () => {},
    }
    if (push) remote.watch = (onFreed) => this.#watch(process, onFreed)
    return remote
  }

  override watchesOf(process: number): number {
    return this.#watches.get(process) ?? 0
  }

  /** Those who wait for a key, as the server knows them. */
  get subscribers(): string {
    return [...this.#subscriptions]
      .map(([{ index }, keys]) => `${index}:${[...keys].sort().join()}`)
      .join(';')
  }

  /** An operator frees the key. */
  evict(key: string): void {
    const wanted = this.server.store.held(key)?.wanted
    this.server.store.evict(key)
    if (wanted) this.#freed(key)
  }

  /** Nobody hears what is said to a process that crashed. */
  drop(process: SimulatedProcess): void {
    this.#subscriptions.delete(process)
    this.messages = this.messages.filter(({ to }) => to !== process)
  }

  take(message: Message): void {
    this.messages = this.messages.filter((each) => each !== message)
  }

  #send<T>(
    process: SimulatedProcess,
    step: StepName,
    items: readonly CallItem[],
    execute: (call: Call) => T,
  ): Promise<T> {
    const count = (this.#sent.get(process) ?? 0) + 1
    this.#sent.set(process, count)
    const { time } = this.#world
    const call: Call = {
      number: process.index * 10_000 + count,
      process: process.index,
      step,
      items: items.map((item) => ({ ...item })),
      sentAt: time,
      sentClock: process.clockAt(time),
      begunAt: time,
      ended: false,
    }
    const keys = items.map(({ key }) => key)
    this.#note({ is: 'sent', call })
    return new Promise((resolve, reject) => {
      const end = (fact: Fact, finish: () => void): void => {
        if (call.ended) return
        call.ended = true
        this.#note(fact)
        finish()
      }
      const fail = (): void => {
        const error = new Error('read ECONNRESET')
        end({ is: 'failed', call, error }, () => reject(error))
      }
      let copies = 0
      const name = `${step} ${process.index}.${count}`
      const arrive = (): void => {
        const copy = copies
        copies += 1
        this.#note({ is: 'arrived', call, copy })
        const answer = execute(call)
        const answers = Array.isArray(answer) ? (answer as unknown[]) : [answer]
        this.messages.push({
          name: `answer ${copy} to ${name}`,
          to: process,
          keys,
          content: answers,
          call,
          deliver: () => end({ is: 'answered', call, answers }, () => resolve(answer)),
          fail,
          late: false,
          isCopy: copy > 0,
        })
      }
      const request = { name, to: null, keys, content: null, call, deliver: arrive, fail }
      this.messages.push({ ...request, late: false, isCopy: false })
    })
  }

  #release(claim: Claim): ReturnType<Network['server']['store']['release']> {
    const answer = this.server.store.release(claim)
    if (answer.released && answer.wanted) this.#freed(claim.key)
    return answer
  }

  #watch(process: SimulatedProcess, onFreed: (key: string) => void): Watch {
    const keys = new Set<string>()
    this.#subscriptions.set(process, keys)
    this.#watches.set(process.index, 1)
    const push = (key: string): void => this.#push(process, key, onFreed)
    this.#pushes.set(process, push)
    return {
      add: (key) => {
        keys.add(key)
        // It came free between its denial and this.
        if (!this.server.store.held(key)) push(key)
      },
      delete: (key) => void keys.delete(key),
      close: async () => {
        this.#watches.set(process.index, 0)
        this.#subscriptions.delete(process)
      },
    }
  }

  #freed(key: string): void {
    for (const [process, keys] of this.#subscriptions) if (keys.has(key)) this.#pushes.get(process)?.(key)
  }

  #push(process: SimulatedProcess, key: string, onFreed: (key: string) => void): void {
    const deliver = (): void => {
      this.#note({ is: 'pushed', process: process.index, key })
      onFreed(key)
    }
    const name = `push of ${key} to ${process.index}`
    const word = { name, to: process, keys: [key], content: null, call: null, deliver, fail: null }
    this.messages.push({ ...word, late: false, isCopy: false })
  }
}
