import { within } from '../../databases/limit.ts'
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
} from '../../store.ts'
import { evictHolder } from '../shared/eviction.ts'
import { Push } from '../shared/push.ts'
import type { RedisClient, Script } from './client.ts'
import { Deadline } from './deadline.ts'
import { asLockError, closedError, tooFewReplicas } from './failures.ts'
import { BucketHearing } from './hearing.ts'
import {
  answerOf,
  askMessage,
  beginningOf,
  type Message,
  recordOf,
  releaseAnswerOf,
  renewalAnswerOf,
  renewalMessage,
} from './messages.ts'
import { bucketOf, Names } from './names.ts'
import { Parts } from './parts.ts'
import { Patience, REPLICAS_MS } from './patience.ts'
import { listLocks } from './listing.ts'
import { ACQUIRE, DISMISS, ENLIST, EVICT, PASS, READ, RELEASE, RENEW, run, runAndWait } from './scripts.ts'

/** How long it may take to leave the lists of waiters: those who are named in vain cost others a poll. */
const FAREWELL_MS = 1000
/** In one call, which so keeps the server for a few milliseconds: nobody waits for them. */
const RENEWED_AT_ONCE = 500
/** What scripts that hand out numbers do nothing with. */
const IDLE = ['', '0']

export interface Settings {
  readonly client: RedisClient
  readonly prefix: string
  /** How many replicas must have a grant or a renewal. */
  readonly replicas: number
  readonly push: boolean
}

export class RedisStore implements Store {
  readonly name = 'redis'
  readonly #client: RedisClient
  readonly #names: Names
  readonly #replicas: number
  readonly #parts: Parts
  readonly #patience: Patience = new Patience()
  readonly #push: Push
  /** What a script that wakes somebody needs to know. */
  readonly #waking: readonly string[]
  #closed = false

  constructor({ client, prefix, replicas, push }: Settings) {
    const names = new Names(prefix, client.keyPrefix)
    this.#client = client
    this.#names = names
    this.#replicas = replicas
    this.#parts = new Parts(client.cluster, {
      suspect: (key) => client.suspect?.(names.record(key)),
      look: (key) => this.#run(READ, this.#records([key]), []),
    })
    this.#waking = [client.cluster ? 'SPUBLISH' : 'PUBLISH', String(names.baseLength)]
    this.#push = new Push({
      listen: push ? (waiter, ears) => new BucketHearing(client, names, waiter, ears) : undefined,
      free: async (keys) => {
        const held = new Set(await this.#enlist(keys, ''))
        return keys.filter((key) => !held.has(key))
      },
      enlist: (keys, waiter) => this.#enlist(keys, waiter),
      dismiss: (keys, waiter) =>
        this.#parts.all(keys, (group) => this.#run(DISMISS, this.#records(group), [waiter])),
      pass: async (key, waiter) => {
        await this.#run(PASS, this.#records([key]), [waiter ?? '', ...this.#waking])
        return true
      },
    })
  }

  /** There is nothing to create. Whoever cannot be reached, or refuses, says so here. */
  async open(): Promise<void> {
    // Two at once, in different slots: a node of a cluster refuses that, where one key might happen to be its own.
    const keys = this.#client.cluster ? ['holdfast:health'] : ['holdfast:health', 'holdfast:open']
    await this.#guard(() => this.#read(keys))
  }

  acquire(asks: readonly Ask[]): Promise<readonly (Answer | Fault)[]> {
    return this.#push.around(asks, (waiting) =>
      this.#batch(asks, (group, deadline) => this.#acquire(group, waiting, deadline), true),
    )
  }

  renew(renewals: readonly Renewal[]): Promise<readonly (RenewalAnswer | Fault)[]> {
    return this.#batch(renewals, async (group, deadline) => {
      const answers: (RenewalAnswer | Fault)[] = []
      for (let from = 0; from < group.length; from += RENEWED_AT_ONCE) {
        answers.push(...(await this.#renew(group.slice(from, from + RENEWED_AT_ONCE), deadline)))
      }
      return answers
    })
  }

  release(claims: readonly Claim[]): Promise<readonly (ReleaseAnswer | Fault)[]> {
    return this.#batch(claims, async (group, deadline) => {
      const owners = group.map(({ owner }) => beginningOf(owner)).join('\n')
      const keys = this.#records(group.map(({ key }) => key))
      const replies = (await this.#run(RELEASE, keys, [...this.#waking, owners], deadline)) as unknown[]
      return replies.map(releaseAnswerOf)
    })
  }

  list(query: ListQuery): Promise<LockPage> {
    return this.#guard(() => listLocks(query, this.#client, this.#names, (keys) => this.#read(keys)))
  }

  evict(key: string, grant?: number): Promise<LockRecord | null> {
    return this.#guard(() => {
      if (grant !== undefined) return this.#evict(key, grant)
      return evictHolder({
        store: this.name,
        key,
        find: async () => (await this.#read([key]))[0],
        evict: (found) => this.#evict(key, found),
      })
    })
  }

  watch(onFreed: (key: string) => void): Watch {
    if (this.#closed) throw closedError()
    return this.#push.watch(onFreed)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    // Before anything else: it still has something to say to the server, if that can hear it.
    await within(this.#push.close(), FAREWELL_MS, closedError).catch(() => undefined)
    this.#closed = true
    await this.#client.close()
  }

  async #acquire(
    asks: readonly Ask[],
    waiting: ReadonlySet<string>,
    deadline: Deadline,
  ): Promise<(Answer | Fault)[]> {
    const message = askMessage(this.#names, asks, this.#push.id, (key) => waiting.has(key))
    const [replies, seen] = await this.#write(ACQUIRE, asks, message, deadline)
    const answers = replies.map(answerOf)
    if (seen >= this.#replicas) return answers
    // A fail-over could forget it. It is left to core to take it back, as all that it is not sure of: it may have asked
    // again under the same owner, and a release would take from that one what was confirmed meanwhile.
    return answers.map((answer) =>
      isGranted(answer) ? { error: tooFewReplicas(seen, this.#replicas) } : answer,
    )
  }

  async #renew(renewals: readonly Renewal[], deadline: Deadline): Promise<(RenewalAnswer | Fault)[]> {
    // While its slot is on its way, a record is here and its fence there: the token rises the next time. Who names a number
    // needs it, or is to hear why it cannot be had.
    const possible = renewals.map((one) => (this.#parts.isApart(one.key) ? { ...one, rotate: false } : one))
    const message = renewalMessage(this.#names, possible)
    const [replies, seen] = await this.#write(RENEW, renewals, message, deadline)
    const answers = replies.map(renewalAnswerOf)
    if (seen >= this.#replicas) return answers
    // Too few have heard that it goes on: what the holder knows of is what the others know of, too. A loss is one.
    return answers.map((answer) =>
      'renewed' in answer && answer.renewed ? { error: tooFewReplicas(seen, this.#replicas) } : answer,
    )
  }

  /** The replies, and how many replicas have what was written. */
  async #write(
    script: Script,
    [first]: readonly Claim[],
    { keys, args }: Message,
    deadline: Deadline,
  ): Promise<readonly [replies: unknown[], replicas: number]> {
    if (this.#replicas === 0) return [(await this.#run(script, keys, args, deadline)) as unknown[], 0]
    if (this.#closed) throw closedError()
    const where = this.#client.cluster && first ? bucketOf(first.key) : ''
    return this.#patience.wait(where, this.#replicas, async (replicas, limitMs) => {
      const wait = { replicas, limitMs }
      const [replies, seen] = await runAndWait(this.#client, script, keys, args, IDLE, wait, deadline)
      return [replies as unknown[], Number(seen)]
    })
  }

  async #evict(key: string, grant: number): Promise<LockRecord | null> {
    const args = [String(grant), ...this.#waking]
    return recordOf(key, await this.#run(EVICT, this.#records([key]), args))
  }

  async #read(keys: readonly string[]): Promise<LockRecord[]> {
    const groups = await this.#parts.all(keys, async (group) => {
      const replies = (await this.#run(READ, this.#records(group), [])) as unknown[]
      return replies.flatMap((reply, index) => recordOf(group[index] ?? '', reply) ?? [])
    })
    return groups.flat()
  }

  /** Those of the keys that somebody holds, or that cannot be asked about now: the next poll finds out more. */
  async #enlist(keys: readonly string[], waiter: string): Promise<string[]> {
    const items = keys.map((key) => ({ key }))
    const answers = await this.#batch(items, async (part, deadline) => {
      const names = this.#records(part.map(({ key }) => key))
      const replies = (await this.#run(ENLIST, names, [waiter], deadline)) as unknown[]
      return replies.map((reply) => ({ held: Number(reply) === 1 }))
    })
    return keys.filter((_, index) => {
      const answer = answers[index]
      return answer && ('error' in answer || answer.held)
    })
  }

  #records(keys: readonly string[]): string[] {
    return keys.map((key) => this.#names.record(key))
  }

  async #run(
    script: Script,
    keys: readonly string[],
    args: readonly string[],
    deadline?: Deadline,
  ): Promise<unknown> {
    if (this.#closed) throw closedError()
    return run(this.#client, script, keys, args, deadline)
  }

  /** For a step of the contract: on a cluster, what fails is told of the keys that it concerns. */
  async #batch<I extends { readonly key: string }, O extends object>(
    items: readonly I[],
    work: (items: readonly I[], deadline: Deadline) => Promise<readonly O[]>,
    together?: boolean,
  ): Promise<(O | Fault)[]> {
    if (!this.#client.cluster) return [...(await this.#guard(() => work(items, new Deadline())))]
    const parts = this.#parts.of(items, ({ key }) => key, together)
    const answers = await this.#parts.answers(parts, this.#replicas > 0 ? REPLICAS_MS : 0, work)
    return items.map(({ key }) => answers.get(key) as O | Fault)
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      if (this.#closed) throw closedError()
      return await work()
    } catch (error) {
      throw asLockError(error)
    }
  }
}

function isGranted(answer: Answer | Fault | undefined): boolean {
  return answer !== undefined && 'granted' in answer && answer.granted
}
