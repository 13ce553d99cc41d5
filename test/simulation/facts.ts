import type { Call } from './network.ts'
import type { Attempt } from './attempt.ts'

/** All that can be known about a run. Invariants hear each fact as it happens; the trace is their list. */
export type Fact = ServerFact | NetworkFact | UserFact | FaultFact

/** What the server decided. */
export type ServerFact =
  | {
      readonly is: 'granted'
      readonly key: string
      readonly owner: string
      readonly grant: number
      readonly leaseMs: number
      /** Number of the call that brought the ask. */
      readonly call: number
      /** The owner whose lease had run out, if the key was not free. */
      readonly tookOver: string | null
    }
  | {
      readonly is: 'granted-again'
      readonly key: string
      readonly owner: string
      readonly grant: number
      readonly call: number
    }
  | { readonly is: 'denied'; readonly key: string; readonly owner: string; readonly by: string }
  | {
      readonly is: 'renewed'
      readonly key: string
      readonly owner: string
      readonly grant: number
      readonly rotated: boolean
    }
  | { readonly is: 'renewal-refused'; readonly key: string; readonly owner: string }
  | {
      readonly is: 'released'
      readonly key: string
      readonly owner: string
      readonly grant: number
      readonly wanted: boolean
    }
  | { readonly is: 'release-missed'; readonly key: string; readonly owner: string }
  | { readonly is: 'evicted'; readonly key: string; readonly owner: string; readonly grant: number }
  | { readonly is: 'forgot' }

/** What a process and the network did with a call. A call ends at most once: answered or failed. */
export type NetworkFact =
  | { readonly is: 'sent'; readonly call: Call }
  | { readonly is: 'arrived'; readonly call: Call; readonly copy: number }
  | { readonly is: 'lost-there'; readonly call: Call }
  | { readonly is: 'lost-back'; readonly call: Call }
  | { readonly is: 'answered'; readonly call: Call; readonly answers: readonly unknown[] }
  | { readonly is: 'failed'; readonly call: Call; readonly error: Error }
  | { readonly is: 'pushed'; readonly process: number; readonly key: string }
  | { readonly is: 'push-lost'; readonly process: number; readonly key: string }

/** What simulated user code asked for and got. */
export type UserFact =
  | { readonly is: 'asked'; readonly attempt: Attempt }
  /** Has a lease in hand. For `using`: the body begins. */
  | { readonly is: 'entered'; readonly attempt: Attempt; readonly token: bigint }
  /** Is about to call `lease.extend`. */
  | { readonly is: 'extending'; readonly attempt: Attempt }
  /** Its signal said that the lease is lost. */
  | { readonly is: 'told'; readonly attempt: Attempt }
  /** The last line that held the lease: the body ended, or `release` is about to be called. */
  | { readonly is: 'left'; readonly attempt: Attempt }
  | { readonly is: 'settled'; readonly attempt: Attempt }

export type FaultFact =
  | { readonly is: 'fault'; readonly what: string }
  | { readonly is: 'calm' }
  | { readonly is: 'closing'; readonly process: number }
  | { readonly is: 'closed'; readonly process: number }

export interface Dated {
  readonly time: number
  readonly fact: Fact
}

/** One line, for people and for comparing two runs. */
export function describeFact({ time, fact }: Dated): string {
  return `${time.toFixed(3).padStart(11)}  ${fact.is.padEnd(15)} ${detail(fact)}`.trimEnd()
}

function detail(fact: Fact): string {
  switch (fact.is) {
    case 'sent':
    case 'lost-there':
    case 'lost-back':
      return describeCall(fact.call)
    case 'arrived':
      return `${describeCall(fact.call)}${fact.copy > 0 ? ' (again)' : ''}`
    case 'answered':
      return `${describeCall(fact.call)} => ${JSON.stringify(fact.answers, withoutHolder)}`
    case 'failed':
      return `${describeCall(fact.call)} => ${fact.error.message}`
    case 'asked':
    case 'entered':
    case 'extending':
    case 'told':
    case 'left':
    case 'settled':
      return describeAttempt(fact)
    default:
      return Object.entries(fact)
        .filter(([name, value]) => name !== 'is' && value !== null)
        .map(([name, value]) => `${name} ${String(value)}`)
        .join(', ')
  }
}

function describeCall(call: Call): string {
  const items = call.items.map((item) => `${item.key}/${item.owner}`).join(' ')
  return `#${call.number} process ${call.process} ${call.step} ${items}`.trimEnd()
}

function describeAttempt(fact: UserFact): string {
  const { name, process, key, how, options, outcome } = fact.attempt
  const who = `${name} process ${process.index} ${how} ${key}`
  if (fact.is === 'asked') return `${who} ${JSON.stringify(options)}`
  if (fact.is === 'entered') return `${who} token ${fact.token / 1024n}+${fact.token % 1024n}`
  return fact.is === 'settled' ? `${who} => ${outcome}` : who
}

function withoutHolder(name: string, value: unknown): unknown {
  if (name === 'holder' || name === 'previous') return undefined
  return value instanceof Error ? value.message : value
}
