import { randomBytes } from 'node:crypto'
import { within } from '../../databases/limit.ts'
import type { MongoDocument } from '../../databases/mongo.ts'
import type {
  Answer,
  Ask,
  Claim,
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
import type { Command, Database } from './database.ts'
import { asLockError, closedError } from './failures.ts'
import { StreamHearing } from './hearing.ts'
import {
  answerOf,
  type Found,
  foundBy,
  isInForce,
  mapOf,
  recordOf,
  renewalAnswerOf,
  valueOf,
} from './records.ts'
import { ensureIndex, namespaceOf, type Names, prepare } from './schema.ts'
import { Steps } from './steps.ts'

/** For so few, a command each at the same time: that is one round trip, where a batch takes two. */
const FEW = 3
/** Items of one command, which bounds its size. Core sends no more at once. */
const MOST = 1000
/** A key may come free between two commands, or its record go: then it is asked for again. */
const MAX_ROUNDS = 5
/** Somebody may drop the collection; it comes back with the next lock, but without its index. */
const LOOK_EVERY_MS = 60_000
/** How long it may take to leave the lists of waiters: those who are named in vain cost others a poll. */
const FAREWELL_MS = 1000

export interface Settings {
  readonly database: Database
  readonly names: Names
  readonly keepSeconds: number
}

/** How a step is taken: for one item by a command of its own, or for many together. `again`: it may have been done. */
interface Ways<I, O> {
  readonly one: (item: I, command: Command, again: boolean) => Promise<O>
  readonly many: (items: readonly I[], command: Command) => Promise<readonly O[]>
}

export class MongoStore implements Store {
  readonly name = 'mongo'
  readonly #settings: Settings
  readonly #steps: Steps
  readonly #push: Push
  /** Whether the last asks were for keys that had no record. The next ones probably are, too. */
  #newKeys = true
  #lookAt = 0
  #looking: Promise<void> | undefined
  #closed = false

  constructor(settings: Settings) {
    const { database, names } = settings
    const { collection } = names
    this.#settings = settings
    this.#push = new Push({
      listen: (waiter, ears) => new StreamHearing(() => database.db(), collection, waiter, ears),
      free: async (keys) => {
        const held = new Set(keysIn(await this.#run(this.#steps.held(keys))))
        return keys.filter((key) => !held.has(key))
      },
      enlist: async (keys) => {
        await this.#run(this.#steps.enlist(keys))
        // Not those that are held: one may have been taken since, and then its list does not name this process.
        return keysIn(await this.#run(this.#steps.enlisted(keys)))
      },
      dismiss: (keys) => this.#run(this.#steps.dismiss(keys)),
      pass: async (key, waiter) =>
        Number((await this.#run(this.#steps.pass(key, waiter !== null, newCall())))['n']) > 0,
    })
    this.#steps = new Steps(collection, this.#push.id)
  }

  async open(): Promise<void> {
    const { database, names, keepSeconds } = this.#settings
    await this.#guard(() => database.step((command) => prepare(command, names, keepSeconds)))
    this.#lookAt = performance.now() + LOOK_EVERY_MS
  }

  async acquire(asks: readonly Ask[]): Promise<readonly Answer[]> {
    const answers = await this.#push.around(asks, (waiting) =>
      this.#batch(asks, {
        one: (ask, command) => this.#acquireOne(ask, waiting, command),
        many: (group, command) => this.#acquireMany(group, waiting, command),
      }),
    )
    if (performance.now() > this.#lookAt) this.#look()
    return answers
  }

  renew(renewals: readonly Renewal[]): Promise<readonly RenewalAnswer[]> {
    return this.#batch(renewals, {
      one: async (renewal, command) => {
        const found = valueOf(await command(this.#steps.renewOne(renewal)))
        if (!found) this.#look()
        return renewalAnswerOf(renewal, found)
      },
      many: (group, command) => this.#renewMany(group, command),
    })
  }

  release(claims: readonly Claim[]): Promise<readonly ReleaseAnswer[]> {
    const call = newCall()
    return this.#batch(claims, {
      one: async (claim, command, again) => {
        if (!again) return this.#releaseOne(claim, call, command)
        const [answer] = await this.#releaseMany([claim], call, command)
        return answer as ReleaseAnswer
      },
      many: (group, command) => this.#releaseMany(group, call, command),
    })
  }

  list({ key, prefix = '', after = '', limit }: ListQuery): Promise<LockPage> {
    return this.#guard(async () => {
      const found = foundBy(await this.#run(this.#steps.list(key, prefix, after, limit)))
      const locks = found.slice(0, limit).map(recordOf)
      return { locks, next: found.length > limit ? (locks.at(-1)?.key ?? null) : null }
    })
  }

  evict(key: string, grant?: number): Promise<LockRecord | null> {
    return this.#guard(() => {
      if (grant !== undefined) return this.#evict(key, grant)
      return evictHolder({
        store: this.name,
        key,
        find: async () => (await this.list({ key, limit: 1 })).locks[0],
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
    const farewell = Promise.all([this.#push.close(), this.#looking])
    await within(farewell, FAREWELL_MS, closedError).catch(() => undefined)
    this.#closed = true
    await this.#settings.database.close()
  }

  async #evict(key: string, grant: number): Promise<LockRecord | null> {
    const found = valueOf(await this.#run(this.#steps.evict(key, grant, newCall())))
    return found ? recordOf(found) : null
  }

  async #acquireOne(ask: Ask, waiting: ReadonlySet<string>, command: Command): Promise<Answer> {
    const found = valueOf(await command(this.#steps.acquireOne(ask, waiting.has(ask.key))))
    return answerOf(ask, found) ?? denied(ask, found)
  }

  async #acquireMany(
    asks: readonly Ask[],
    waiting: ReadonlySet<string>,
    command: Command,
  ): Promise<readonly Answer[]> {
    const answers = new Map<string, Answer>()
    let open = asks
    let mayBeNew = this.#newKeys
    for (let round = 1; open.length > 0; round += 1) {
      const keys = open.map(({ key }) => key)
      if (mayBeNew) this.#newKeys = Number((await command(this.#steps.insert(keys)))['n']) > 0
      const written = await command(this.#steps.acquireMany(open, waiting))
      const isComplete = mayBeNew || written['n'] === keys.length
      mayBeNew = true
      if (!isComplete) continue
      const found = mapOf(await command(this.#steps.find(keys), written))
      for (const ask of open) {
        const answer =
          answerOf(ask, found.get(ask.key)) ?? (round >= MAX_ROUNDS && denied(ask, found.get(ask.key)))
        if (answer) answers.set(ask.key, answer)
      }
      open = open.filter(({ key }) => !answers.has(key))
    }
    return asks.map(({ key }) => answers.get(key) as Answer)
  }

  /**
   * What is in force afterwards need not have been prolonged: the next primary's clock may be behind that of the one which
   * found that it had run out. Only the count tells, once it is of all that were asked for.
   */
  async #renewMany(renewals: readonly Renewal[], command: Command): Promise<readonly RenewalAnswer[]> {
    let answers = new Map<string, RenewalAnswer>()
    let open = renewals
    for (let round = 1; open.length > 0; round += 1) {
      const written = await command(this.#steps.renewMany(open))
      const found = mapOf(await command(this.#steps.find(open.map(({ key }) => key)), written))
      if (found.size < open.length) this.#look()
      answers = new Map(
        open.map((renewal) => [renewal.key, renewalAnswerOf(renewal, found.get(renewal.key))]),
      )
      if (Number(written['n']) === open.length) break
      if (round >= MAX_ROUNDS)
        throw new Error('some leases run out and are in force again each time they are looked at')
      open = open.filter(({ key }) => answers.get(key)?.renewed)
    }
    return renewals.map(({ key }) => answers.get(key) ?? { renewed: false })
  }

  async #releaseOne(claim: Claim, call: string, command: Command): Promise<ReleaseAnswer> {
    const before = valueOf(await command(this.#steps.releaseOne(claim, call)))
    return { released: before?.inForce === true, wanted: before?.wanted === true }
  }

  async #releaseMany(
    claims: readonly Claim[],
    call: string,
    command: Command,
  ): Promise<readonly ReleaseAnswer[]> {
    const keys = claims.map(({ key }) => key)
    const written = await command(this.#steps.releaseUnwanted(claims, call))
    if (written['n'] === claims.length) return claims.map(() => ({ released: true, wanted: false }))
    // Those that are wanted or have run out are still there, and have something to tell.
    const before = mapOf(await command(this.#steps.find(keys), written))
    const ours = claims.filter(({ key, owner }) => before.get(key)?.owner === owner)
    const freed = ours.length > 0 ? await command(this.#steps.releaseMany(ours, call)) : { n: 0 }
    const after = freed['n'] === ours.length ? null : mapOf(await command(this.#steps.find(keys), freed))
    return claims.map(({ key, owner }) => {
      const was = before.get(key)
      if (was?.owner !== owner) {
        const released = was?.freed === call
        return { released, wanted: released && was?.wanted === true }
      }
      // It may have run out and been taken between the two.
      const released = isInForce(was) && (!after || after.get(key)?.freed === call)
      return { released, wanted: was.wanted === true }
    })
  }

  #run(document: MongoDocument): Promise<MongoDocument> {
    return this.#settings.database.step((command) => command(document))
  }

  /** The index may have gone with the collection. */
  #look(): void {
    const { database, names, keepSeconds } = this.#settings
    this.#lookAt = performance.now() + LOOK_EVERY_MS
    this.#looking ??= database
      .step((command) => ensureIndex(command, names, keepSeconds))
      // The steps of the store report what is wrong; without an index nothing is, for a while.
      .catch(() => undefined)
      .finally(() => (this.#looking = undefined))
  }

  /** For a step of the contract. */
  #batch<I, O>(items: readonly I[], { one, many }: Ways<I, O>): Promise<O[]> {
    const { database } = this.#settings
    return this.#guard(async () => {
      if (items.length <= FEW) {
        return Promise.all(
          items.map((item) => database.step((command, attempt) => one(item, command, attempt > 1))),
        )
      }
      const answers: O[] = []
      for (const group of groupsOf(items)) {
        answers.push(...(await database.step((command) => many(group, command))))
      }
      return answers
    })
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      if (this.#closed) throw closedError()
      return await work()
    } catch (error) {
      throw asLockError(error, namespaceOf(this.#settings.names))
    }
  }
}

function keysIn(reply: MongoDocument): string[] {
  return foundBy(reply).map(({ _id }) => _id)
}

/** Of a key that came free each time it was looked at: it may be asked for again at once. */
function denied({ key }: Ask, found: Found | undefined): Answer {
  if (!found?.holder) throw new Error(`the record of "${key}" is removed as soon as it is written`)
  return { granted: false, retryInMs: 0, holder: found.holder }
}

function groupsOf<I>(items: readonly I[]): (readonly I[])[] {
  const count = Math.ceil(items.length / MOST)
  return Array.from({ length: count }, (_, index) => items.slice(index * MOST, (index + 1) * MOST))
}

/** Tells a call from any other. */
function newCall(): string {
  return randomBytes(6).toString('base64url')
}
