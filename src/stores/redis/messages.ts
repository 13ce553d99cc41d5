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

  numberOf(key: string): string {
    const bucket = bucketOf(key)
    const number = this.#numbers.get(bucket) ?? this.#numbers.size + 1
    this.#numbers.set(bucket, number)
    return String(number)
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
  // Most asks of a batch have all of this in common.
  const kinds = new Map<Holder, Map<number, string>>()
  const kindArgs: string[] = []
  const kindOf = (holder: Holder, leaseMs: number, waiting: boolean): string => {
    const known = kinds.get(holder) ?? new Map<number, string>()
    const sign = waiting ? -leaseMs : leaseMs
    const kind = known.get(sign) ?? String(kindArgs.length / 3 + 1)
    if (!known.has(sign)) {
      kindArgs.push(String(leaseMs), waiting ? '1' : '0', restOf(holder, leaseMs))
      kinds.set(holder, known.set(sign, kind))
    }
    return kind
  }
  const keys: string[] = []
  let lines = ''
  for (const { key, owner, leaseMs, holder } of asks) {
    keys.push(names.record(key))
    const kind = kindOf(holder, Math.ceil(leaseMs), waits(key))
    lines += `${fences.numberOf(key)} ${kind} ${beginningOf(owner)}\n`
  }
  return {
    keys: [...keys, ...fences.names(names)],
    args: [waiter, String(kindArgs.length / 3), ...kindArgs, lines],
  }
}

/** A record from its lease on, without its end. */
function restOf({ service, instance, context }: Holder, lease: number): string {
  const text = JSON.stringify({ lease, service, instance, ...(context === null ? {} : { context }) })
  return `,${text.slice(1, -1)}`
}

/** How a record of this owner begins. */
export function beginningOf(owner: string): string {
  return `{"owner":${JSON.stringify(owner)}`
}

export function renewalMessage(names: Names, renewals: readonly Renewal[]): Message {
  const fences = new Fences()
  let lines = ''
  for (const { key, owner, leaseMs, rotate, raiseTo = 0 } of renewals) {
    const fence = rotate || raiseTo > 0 ? fences.numberOf(key) : '0'
    lines += `${fence} ${raiseTo} ${Math.ceil(leaseMs)} ${beginningOf(owner)}\n`
  }
  const keys = renewals.map(({ key }) => names.record(key))
  return { keys: [...keys, ...fences.names(names)], args: [String(renewals.length), lines] }
}

export function answerOf(reply: unknown): Answer | Fault {
  if (typeof reply === 'string' && Number.isNaN(Number(reply))) return { error: refusal(reply) }
  if (!Array.isArray(reply)) return { granted: true, grant: Number(reply), previous: null }
  const [leftMs, text] = reply as readonly unknown[]
  const { holder } = fieldsOf(text)
  // Below 0, somebody has taken its expiry off.
  return { granted: false, retryInMs: Number(leftMs) < 0 ? ENDLESS_MS : Number(leftMs), holder }
}

export function renewalAnswerOf(reply: unknown): RenewalAnswer | Fault {
  const grant = Number(reply)
  if (Number.isNaN(grant)) return { error: refusal(reply) }
  return grant > 0 ? { renewed: true, grant } : { renewed: false }
}

export function releaseAnswerOf(reply: unknown): ReleaseAnswer | Fault {
  const code = Number(reply)
  return Number.isNaN(code) ? { error: refusal(reply) } : { released: code > 0, wanted: code === 2 }
}

/** Null where nobody holds the key. */
export function recordOf(key: string, reply: unknown): LockRecord | null {
  if (!Array.isArray(reply)) return null
  const [leftMs, text] = reply as readonly unknown[]
  const { holder, fields } = fieldsOf(text)
  return {
    key,
    grant: Number(fields['grant']),
    holder,
    since: Number(fields['since']),
    leaseMs: Number(fields['lease']),
    remainingMs: Math.max(0, Number(leftMs)),
    wanted: fields['wanted'] === true || Boolean(fields['waiters']),
  }
}

function fieldsOf(text: unknown): { readonly holder: Holder; readonly fields: Record<string, unknown> } {
  const fields = JSON.parse(String(text)) as Record<string, unknown>
  const { service, instance, context = null } = fields
  return {
    holder: {
      service: String(service),
      instance: String(instance),
      context: typeof context === 'string' ? context : null,
    },
    fields,
  }
}

/**
 * What the server said instead of doing it, for this key alone: that something else has its name (WRONGTYPE), or that it
 * writes nothing now (OOM, READONLY, MISCONF).
 */
function refusal(message: unknown): Error {
  return asLockError(new Error(String(message)))
}
