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
} from '../store.ts'

/**
 * What goes wrong with a call. Its request is lost and the store never sees it; or the store carries
 * it out and the reply is lost with an error, never comes, or comes when the test lets it.
 */
export type Loss = 'request lost' | 'reply lost' | 'reply never comes' | { readonly delivered: Promise<void> }

type StepName = 'acquire' | 'renew' | 'release'

/** Stands between `Locks` and a store: counts what goes by, and loses or doubles it when told to. */
export class ProbeStore implements Store {
  readonly name: string
  readonly watch?: (onFreed: (key: string) => void) => Watch
  readonly #store: Store
  readonly #losses = new Map<StepName, Loss>()
  readonly #asking = new Map<string, number>()

  /** Sends every step twice; the second answers are lost. */
  doubling = false
  calls = 0
  /** How often a key was asked for, all in all. */
  asks = 0
  /** The most asks for one and the same key that were under way at once. */
  mostAsksAtOnce = 0
  openWatches = 0
  /** The keys that are watched now. */
  readonly watched: Set<string> = new Set()
  closed = 0

  constructor(store: Store) {
    this.#store = store
    this.name = store.name
    if (store.watch) this.watch = (onFreed) => this.#watch(onFreed)
  }

  /** Spoils the next call of this step. */
  loseNext(step: StepName, how: Loss): void {
    this.#losses.set(step, how)
  }

  open(): Promise<void> {
    return this.#store.open()
  }

  async acquire(asks: readonly Ask[]): Promise<readonly (Answer | Fault)[]> {
    for (const { key } of asks) {
      const asking = (this.#asking.get(key) ?? 0) + 1
      this.#asking.set(key, asking)
      this.asks += 1
      this.mostAsksAtOnce = Math.max(this.mostAsksAtOnce, asking)
    }
    try {
      return await this.#pass('acquire', () => this.#store.acquire(asks))
    } finally {
      for (const { key } of asks) this.#asking.set(key, (this.#asking.get(key) ?? 0) - 1)
    }
  }

  renew(renewals: readonly Renewal[]): Promise<readonly (RenewalAnswer | Fault)[]> {
    return this.#pass('renew', () => this.#store.renew(renewals))
  }

  release(claims: readonly Claim[]): Promise<readonly (ReleaseAnswer | Fault)[]> {
    return this.#pass('release', () => this.#store.release(claims))
  }

  list(query: ListQuery): Promise<LockPage> {
    this.calls += 1
    return this.#store.list(query)
  }

  evict(key: string, grant?: number): Promise<LockRecord | null> {
    this.calls += 1
    return this.#store.evict(key, grant)
  }

  async close(): Promise<void> {
    this.closed += 1
    await this.#store.close()
  }

  async #pass<T>(step: StepName, send: () => Promise<T>): Promise<T> {
    this.calls += 1
    const loss = this.#losses.get(step)
    this.#losses.delete(step)
    if (loss === 'request lost') throw new Error('the test lost the request')
    const answer = await send()
    if (this.doubling) await send()
    if (loss === undefined) return answer
    if (loss === 'reply lost') throw new Error('the test lost the reply')
    if (loss === 'reply never comes') return new Promise(() => undefined)
    await loss.delivered
    return answer
  }

  #watch(onFreed: (key: string) => void): Watch {
    const watch = (this.#store.watch as NonNullable<Store['watch']>)(onFreed)
    let open = true
    this.openWatches += 1
    return {
      add: (key) => {
        this.watched.add(key)
        watch.add(key)
      },
      delete: (key) => {
        this.watched.delete(key)
        watch.delete(key)
      },
      close: async () => {
        if (open) this.openWatches -= 1
        open = false
        await watch.close()
      },
    }
  }
}
