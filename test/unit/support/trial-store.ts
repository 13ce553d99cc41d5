import type {
  Answer,
  Ask,
  Claim,
  Fault,
  ListQuery,
  LockPage,
  LockRecord,
  ReleaseAnswer,
  Renewal,
  RenewalAnswer,
  Store,
  Watch,
} from '../../../src/store.ts'
import { memoryStore } from '../../../src/stores/memory.ts'
import type { VirtualTime } from './virtual-time.ts'

type StepName = 'open' | 'acquire' | 'renew' | 'release' | 'list' | 'evict' | 'close'

/**
 * `work`; `fail`: nothing happens, an error comes back; `hang`: nothing happens, nothing comes back;
 * `lose reply`: it happens, nothing comes back; or hold the call until the test lets it go on.
 */
type Mood = 'work' | 'fail' | 'hang' | 'lose reply' | Promise<void>

/** A real memory store on virtual time, in front of which the network misbehaves as told. */
export class TrialStore implements Store {
  readonly name = 'trial'
  readonly calls: { step: StepName; items: number }[] = []
  readonly mood: Partial<Record<StepName, Mood>> = {}
  readonly inner: Store
  readonly watch?: (onFreed: (key: string) => void) => Watch

  constructor(time: VirtualTime, options: { push?: boolean; inner?: Store } = {}) {
    this.inner = options.inner ?? memoryStore({ now: () => 1_700_000_000_000 + time.now() })
    if (options.push !== false) this.watch = (onFreed) => this.inner.watch!(onFreed)
  }

  count(step: StepName): number {
    return this.calls.filter((call) => call.step === step).length
  }

  open(): Promise<void> {
    return this.#step('open', 0, () => this.inner.open())
  }

  acquire(asks: readonly Ask[]): Promise<readonly (Answer | Fault)[]> {
    return this.#step('acquire', asks.length, () => this.inner.acquire(asks))
  }

  renew(renewals: readonly Renewal[]): Promise<readonly (RenewalAnswer | Fault)[]> {
    return this.#step('renew', renewals.length, () => this.inner.renew(renewals))
  }

  release(claims: readonly Claim[]): Promise<readonly (ReleaseAnswer | Fault)[]> {
    return this.#step('release', claims.length, () => this.inner.release(claims))
  }

  list(query: ListQuery): Promise<LockPage> {
    return this.#step('list', 1, () => this.inner.list(query))
  }

  evict(key: string, grant?: number): Promise<LockRecord | null> {
    return this.#step('evict', 1, () => this.inner.evict(key, grant))
  }

  close(): Promise<void> {
    return this.#step('close', 0, () => this.inner.close())
  }

  async heldKeys(): Promise<string[]> {
    return (await this.inner.list({ limit: 1000 })).locks.map((lock) => lock.key)
  }

  async #step<T>(step: StepName, items: number, work: () => Promise<T>): Promise<T> {
    this.calls.push({ step, items })
    const mood = this.mood[step] ?? 'work'
    if (mood === 'fail') throw new Error('connection refused')
    if (mood === 'hang') return new Promise<T>(() => {})
    if (mood === 'lose reply') {
      await work()
      return new Promise<T>(() => {})
    }
    if (mood !== 'work') await mood
    return work()
  }
}
