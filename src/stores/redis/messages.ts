import type {
  Answer,
  Ask,
  Fault,
  Holder,
  LockRecord,
  ReleaseAnswer,
  Renewal,
  RenewalAnswer,
} from '../../store.ts'
import { asLockError } from './failures.ts'
import { bucketOf, type Names } from './names.ts'

/** What a script takes, see the head of its file in `lua/`. */
export interface Message {
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

/** For a lease that does not end by itself: whoever waits goes by messages, and looks now and then. */
const ENDLESS_MS = 60_000

/** The buckets of some keys, each with its number from 1, as Lua counts. */
class Fences {
  readonly #numbers = new Map<string, number>()

  numberOf(key: string): number {
    const bucket = bucketOf(key)
    const number = this.#numbers.get(bucket) ?? this.#numbers.size + 1
    this.#numbers.set(bucket, number)
    return number
  }

  names(names: Names): string[] {
    return [...this.#numbers.keys()].map((bucket) => names.fence(bucket))
  }
}

export function askMessage(
  names: Names,
  asks: readonly Ask[],
  waiter: string,
  waits: (key: string) => boolean,
): Message {
  const fences = new Fences()
  const holders = new Map<Holder, number>()
  const flat = asks.flatMap(({ key, owner, leaseMs, holder }) => {
    const place = holders.get(holder) ?? holders.size + 1
    holders.set(holder, place)
    return [owner, Math.ceil(leaseMs), place, fences.numberOf(key), waits(key) ? 1 : 0]
  })
  // Half a character, which a script could not read, becomes a question mark.
  const texts = [...holders.keys()].flatMap(({ service, instance, context }) => [
    service.toWellFormed(),
    instance.toWellFormed(),
    context?.toWellFormed() ?? false,
  ])
  return {
    keys: [...asks.map(({ key }) => names.record(key)), ...fences.names(names)],
    args: [JSON.stringify(flat), JSON.stringify(texts), waiter],
  }
}

export function renewalMessage(names: Names, renewals: readonly Renewal[]): Message {
  const fences = new Fences()
  const flat = renewals.flatMap(({ key, owner, leaseMs, rotate }) => [
    owner,
    Math.ceil(leaseMs),
    rotate ? fences.numberOf(key) : 0,
  ])
  return {
    keys: [...renewals.map(({ key }) => names.record(key)), ...fences.names(names)],
    args: [JSON.stringify(flat)],
  }
}

export function answerOf(reply: unknown): Answer | Fault {
  if (typeof reply === 'string' && Number.isNaN(Number(reply))) return { error: wrongRecord(reply) }
  if (!Array.isArray(reply)) return { granted: true, grant: Number(reply), previous: null }
  const [leftMs, service, instance, context] = reply as readonly unknown[]
  return {
    granted: false,
    // Below 0, somebody has taken its expiry off.
    retryInMs: Number(leftMs) < 0 ? ENDLESS_MS : Number(leftMs),
    holder: { service: String(service), instance: String(instance), context: textOrNull(context) },
  }
}

export function renewalAnswerOf(reply: unknown): RenewalAnswer | Fault {
  const grant = Number(reply)
  if (Number.isNaN(grant)) return { error: wrongRecord(reply) }
  return grant > 0 ? { renewed: true, grant } : { renewed: false }
}

export function releaseAnswerOf(reply: unknown): ReleaseAnswer | Fault {
  const code = Number(reply)
  return Number.isNaN(code) ? { error: wrongRecord(reply) } : { released: code > 0, wanted: code === 2 }
}

/** Null where nobody holds the key. */
export function recordOf(key: string, reply: unknown): LockRecord | null {
  if (!Array.isArray(reply)) return null
  const [leftMs, , grant, service, instance, context, since, lease, wanted, waiters] =
    reply as readonly unknown[]
  return {
    key,
    grant: Number(grant),
    holder: { service: String(service), instance: String(instance), context: textOrNull(context) },
    since: Number(since),
    leaseMs: Number(lease),
    remainingMs: Math.max(0, Number(leftMs)),
    wanted: Boolean(wanted) || Boolean(waiters),
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function wrongRecord(message: unknown): Error {
  return asLockError(new Error(String(message)))
}
