import type { Entry } from '../history.ts'

/** One claim of one call to the store, and its answer. */
export interface Step {
  readonly by: string
  /** The number of the call, unique within its worker. */
  readonly call: number
  readonly step: 'acquire' | 'renew' | 'release'
  readonly key: string
  readonly owner: string
  readonly leaseMs: number
  readonly sentAt: number
  /** Infinity if no answer came: it may take effect at any time. */
  repliedAt: number
  /** When it ended without an answer, if it did: it may take effect later all the same. */
  failedAt: number | null
  /** Null if its outcome is not known. */
  answer: number | 'yes' | 'no' | null
}

/** All that one owner, which stands for one grant as a rule, said about a key. */
export interface Owner {
  readonly owner: string
  readonly key: string
  readonly by: string
  readonly steps: Step[]
}

/** A number that the store gave out, and the answers that named it. */
export interface Grant {
  readonly key: string
  readonly number: number
  readonly owner: Owner
  /** Acquires and renewals, in the order of their replies. At some moment of each the owner held the key. */
  readonly confirmed: Step[]
}

/** What passed between all clients and the store. */
export class StoreView {
  calls = 0
  /** Of calls, and of single claims of theirs. */
  readonly errors: { readonly at: number; readonly by: string; readonly text: string }[] = []
  readonly owners: Map<string, Owner> = new Map()
  /** By key. */
  readonly grants: Map<string, Grant[]> = new Map()
  /** Calls under way, by worker and number. */
  readonly #calls = new Map<string, Step[]>()
  readonly #grants = new Map<string, Grant>()
  /** The first that was given a number of a key. */
  readonly #numbers = new Map<string, Grant>()

  take(entry: Extract<Entry, { is: 'call' | 'reply' | 'failed' }>): void {
    const { at, by, call } = entry
    const id = `${by} ${call}`
    if (entry.is === 'call') {
      this.calls += 1
      const steps = entry.claims.map(({ key, owner, leaseMs = 0 }): Step => {
        const rest = { sentAt: at, repliedAt: Infinity, failedAt: null, answer: null }
        return { by, call, step: entry.step, key, owner, leaseMs, ...rest }
      })
      for (const step of steps) this.#owner(step).steps.push(step)
      this.#calls.set(id, steps)
      return
    }
    const texts = entry.is === 'failed' ? [entry.error] : (entry.errors ?? [])
    for (const text of texts) this.errors.push({ at, by, text })
    this.#calls.get(id)?.forEach((step, i) => {
      const answer = (entry.is === 'reply' ? entry.answers[i] : null) ?? 'fault'
      if (answer === 'fault') return void (step.failedAt = at)
      step.repliedAt = at
      step.answer = answer
      if (typeof answer === 'number') this.#confirm(step, answer)
    })
    this.#calls.delete(id)
  }

  grant(key: string, number: number): Grant | null {
    return this.#numbers.get(`${number} ${key}`) ?? null
  }

  ownerOf({ key, owner }: Step): Owner | null {
    return this.owners.get(`${owner} ${key}`) ?? null
  }

  #owner({ by, key, owner }: Step): Owner {
    const id = `${owner} ${key}`
    const known = this.owners.get(id) ?? { owner, key, by, steps: [] }
    this.owners.set(id, known)
    return known
  }

  #confirm(step: Step, number: number): void {
    const { key } = step
    const owner = this.#owner(step)
    const id = `${number} ${owner.owner} ${key}`
    let grant = this.#grants.get(id)
    if (!grant) {
      grant = { key, number, owner, confirmed: [] }
      this.#grants.set(id, grant)
      const ofKey = this.grants.get(key)
      if (ofKey) ofKey.push(grant)
      else this.grants.set(key, [grant])
      if (!this.#numbers.has(`${number} ${key}`)) this.#numbers.set(`${number} ${key}`, grant)
    }
    grant.confirmed.push(step)
  }
}
