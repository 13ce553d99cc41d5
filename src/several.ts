import { type AnyLease, Bundle } from './bundle.ts'
import { Contention } from './contention.ts'
import type { Environment } from './environment.ts'
import { LockError } from './errors.ts'
import { KeyLease } from './key-lease.ts'
import type { Journal } from './monitor/journal.ts'
import type { Counters } from './monitor/stats.ts'
import type { Request } from './options.ts'

/** How one key is entered. */
type Enter = (key: string, request: Request) => Promise<KeyLease | Contention>

/**
 * Takes all of `keys`, or none. They are in one order, the same everywhere.
 *
 * First it tries all of them, which is one call of the store; if none is taken, that is all. Else it keeps those before
 * the first that is taken, gives the others back, waits for that one in its line, and tries the rest again. So whoever
 * waits has only keys that come before the one it waits for, and no two ever wait for each other. Each round wins at
 * least one key.
 */
export async function takeAll(
  keys: readonly string[],
  request: Request,
  enter: Enter,
  { env, journal }: { readonly env: Environment; readonly journal: Journal },
): Promise<AnyLease | Contention> {
  const { counters } = journal.stats
  const start = env.now()
  const waitedMs = (): number => env.now() - start
  const leftMs = (): number => Math.max(0, request.waitMs - waitedMs())
  let parts: KeyLease[] = []
  const end = (contention: Contention): Contention => {
    giveBack(parts)
    return contention
  }
  try {
    for (;;) {
      const { first, granted, stop } = await tryAll(keys.slice(parts.length), request, leftMs(), enter)
      parts.push(...first)
      counters.requests += granted
      if (stop !== null) {
        counters.requests += 1
        // Read once: it goes on.
        const beforeMs = waitedMs()
        const waitMs = Math.max(0, request.waitMs - beforeMs)
        if (waitMs === 0 || !mayPass(stop)) {
          if (!(stop instanceof Contention)) throw counted(stop, counters)
          const contention = new Contention(stop.key, beforeMs, stop.holder, stop.by)
          journal.timedOut(contention)
          return end(contention)
        }
        const outcome = await enter(keys[parts.length] as string, { ...request, waitMs, beforeMs })
        if (outcome instanceof Contention) return end(outcome)
        parts.push(outcome)
      }
      if (leftMs() > 0 && !parts.every(({ held }) => held)) {
        // Lost meanwhile, by force or since the store was out of reach: from the beginning, while there is time.
        giveBack(parts)
        parts = []
      } else if (parts.length === keys.length) {
        return new Bundle(parts)
      }
    }
  } catch (error) {
    giveBack(parts)
    throw error
  }
}

interface Round {
  /** Of the first keys, up to one that was not granted. */
  readonly first: readonly KeyLease[]
  /** Why it was not, or what is wrong with one after it for good; null if all were granted. */
  readonly stop: Contention | LockError | null
  /** How many were granted, also of those after it, which are given back. */
  readonly granted: number
}

async function tryAll(
  keys: readonly string[],
  request: Request,
  waitMs: number,
  enter: Enter,
): Promise<Round> {
  const part = { ...request, waitMs, oneTry: true, isPart: true }
  const tryOne = async (key: string): Promise<KeyLease | Contention | LockError> => {
    try {
      return await enter(key, part)
    } catch (error) {
      return error as LockError
    }
  }
  const outcomes = await Promise.all(keys.map(tryOne))
  const first: KeyLease[] = []
  const others: KeyLease[] = []
  let stop: Round['stop'] = null
  for (const outcome of outcomes) {
    if (!(outcome instanceof KeyLease)) stop ??= outcome
    else if (stop) others.push(outcome)
    else first.push(outcome)
  }
  giveBack(others)
  // What no waiting can change comes before what may pass.
  const lasting = outcomes.find((outcome) => outcome instanceof LockError && !mayPass(outcome))
  return { first, stop: (lasting as LockError | undefined) ?? stop, granted: first.length + others.length }
}

/** Somebody gives a key back, or a store that is out of reach answers again; all else stays as it is. */
function mayPass(stop: Contention | LockError): boolean {
  return stop instanceof Contention || stop.code === 'STORE_UNAVAILABLE'
}

function counted(error: LockError, counters: Counters): LockError {
  counters[error.code === 'LOCK_ABORTED' || error.code === 'CLOSED' ? 'aborted' : 'failed'] += 1
  return error
}

/** The last first: those who wait for one of them find the others free. */
function giveBack(parts: readonly KeyLease[]): void {
  for (const part of parts.toReversed()) part.giveBack()
}
