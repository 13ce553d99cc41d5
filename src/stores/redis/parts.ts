import { LockError } from '../../errors.ts'
import type { Fault } from '../../store.ts'
import { Deadline } from './deadline.ts'
import { asLockError, isMoving } from './failures.ts'
import { bucketOf } from './names.ts'

interface Keyed {
  readonly key: string
}

/** How much longer than the first node the others may take. */
const BEHIND_MS = 500
/** A node that takes longer may be dead. */
const SUSPECT_MS = 400
/** How long a slot that was on its way is taken to be so. */
const APART_MS = 10_000

/** What is done about a key without an answer. */
interface Silent {
  /** Its node may be dead. */
  readonly suspect: (key: string) => void
  /** Asks about this key alone, in a way that changes nothing. */
  readonly look: (key: string) => Promise<unknown>
}

/** Shares the keys of a step out among calls: on a cluster, each must keep to one slot, and so to one bucket. */
export class Parts {
  readonly #cluster: boolean
  readonly #silent: Silent
  /** Buckets that were being moved, with some keys here and some there, and until when each key is called for alone. */
  readonly #apart = new Map<string, number>()

  constructor(cluster: boolean, silent: Silent) {
    this.#cluster = cluster
    this.#silent = silent
  }

  /** All sent at once. Fails if one does. */
  all<T>(keys: readonly string[], work: (part: readonly string[]) => Promise<T>): Promise<T[]> {
    return Promise.all(
      this.of(keys, (key) => key).map(async (part) => {
        try {
          return await work(part)
        } catch (error) {
          this.#failed(part[0] ?? '', error)
          throw error
        }
      }),
    )
  }

  /** `together`: the call needs more than a record, and cannot do with less. */
  of<T>(items: readonly T[], keyOf: (item: T) => string, together = false): (readonly T[])[] {
    if (!this.#cluster) return [items]
    const parts = new Map<string, T[]>()
    for (const item of items) {
      const key = keyOf(item)
      const bucket = bucketOf(key)
      const name = !together && this.isApart(key) ? `${bucket} ${key}` : bucket
      const part = parts.get(name)
      if (part) part.push(item)
      else parts.set(name, [item])
    }
    return [...parts.values()]
  }

  /**
   * What fails is told of the keys that it concerns; also if a node is far behind the others, which may not have to wait
   * for it: their leases run on meanwhile.
   */
  async answers<I extends Keyed, O extends object>(
    parts: readonly (readonly I[])[],
    behindMs: number,
    work: (part: readonly I[], deadline: Deadline) => Promise<readonly O[]>,
  ): Promise<Map<string, O | Fault>> {
    const answers = new Map<string, O | Fault>()
    const deadline = new Deadline()
    const isSilent = ([item]: readonly I[]): boolean => item !== undefined && !answers.has(item.key)
    const suspicion = setTimeout(() => {
      const silent = parts.filter(isSilent)
      if (silent[0]?.[0]) this.#silent.suspect(silent[0][0].key)
      for (const part of silent) if (part.length > 1) this.#look(part, isSilent)
    }, SUSPECT_MS)
    let timer: NodeJS.Timeout | undefined
    let goOn: () => void = () => undefined
    const late = new Promise<void>((resolve) => (goOn = resolve))
    const all = parts.map(async (part) => {
      try {
        const each = await work(part, deadline)
        part.forEach(({ key }, index) => answers.set(key, each[index] as O))
        // Answers that came while this process stood still are read before anyone goes on without them.
        timer ??= setTimeout(() => setImmediate(goOn), behindMs + BEHIND_MS)
      } catch (error) {
        this.#failed(part[0]?.key ?? '', error)
        for (const { key } of part) answers.set(key, { error: asLockError(error) })
      }
    })
    await Promise.race([Promise.all(all), late])
    // What was sent may be granted yet, and nobody hears of it. It is not given back from here: core may have asked again
    // under the same owner, and have heard that the key is its own. It takes this back as all that it is not sure of.
    deadline.end()
    clearTimeout(timer)
    clearTimeout(suspicion)
    for (const { key } of parts.flat()) if (!answers.has(key)) answers.set(key, { error: behind() })
    return answers
  }

  /**
   * A node answers in order. One that tells of a key alone has refused to tell of several, and the client asks again: for
   * seconds, or as often as its owner has set. The leases run on meanwhile, and are renewed key by key from here on.
   */
  #look<I extends Keyed>(part: readonly I[], isSilent: (part: readonly I[]) => boolean): void {
    const { key } = part[0] as I
    const answered = (): void => {
      if (isSilent(part)) this.#setApart(key)
    }
    // A fault is told of the part itself.
    this.#silent.look(key).then(answered, () => undefined)
  }

  #failed(key: string, error: unknown): void {
    if (isMoving(error)) this.#setApart(key)
  }

  #setApart(key: string): void {
    this.#apart.set(bucketOf(key), performance.now() + APART_MS)
  }

  /** Whether the slot of this key seems to be on its way. */
  isApart(key: string): boolean {
    const bucket = bucketOf(key)
    const until = this.#apart.get(bucket)
    if (until === undefined) return false
    if (performance.now() > until) this.#apart.delete(bucket)
    return performance.now() <= until
  }
}

function behind(): LockError {
  return new LockError(
    'STORE_UNAVAILABLE',
    'the redis store failed: a node of the cluster gave no answer in time, while others did',
  )
}
