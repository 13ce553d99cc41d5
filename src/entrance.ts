import type { AnyLease } from './bundle.ts'
import type { Contention } from './contention.ts'
import type { Environment } from './environment.ts'
import { LockError } from './errors.ts'
import type { KeyLease } from './key-lease.ts'
import type { Journal } from './monitor/journal.ts'
import type { Request } from './options.ts'
import { lostBeforeRelease } from './release-errors.ts'
import { enclosingLease } from './section.ts'
import { takeAll } from './several.ts'
import { aborted } from './waiter.ts'
import type { WaitingRoom } from './waiting-room.ts'

export interface EntranceKeeping {
  /** Whose sections count: a key is entered again only through the client that holds it. */
  readonly client: object
  readonly env: Environment
  readonly journal: Journal
  readonly room: WaitingRoom
}

/** Where a request goes: into a section around it that has the key already, or to the line of the key. */
export class Entrance {
  readonly #keeping: EntranceKeeping

  constructor(keeping: EntranceKeeping) {
    this.#keeping = keeping
  }

  /** Several keys are in order, each once. Whoever is turned away at once is so by an error that is thrown. */
  enter(keys: string | readonly string[], request: Request): Promise<AnyLease | Contention> {
    const { counters, busyKeys } = this.#keeping.journal.stats
    if (typeof keys !== 'string') {
      for (const key of keys) busyKeys.requested(key)
      return takeAll(keys, request, (key, part) => this.#enterOne(key, part), this.#keeping)
    }
    counters.requests += 1
    busyKeys.requested(keys)
    return this.#enterOne(keys, request)
  }

  #enterOne(key: string, request: Request): Promise<KeyLease | Contention> {
    const { client, room } = this.#keeping
    // Of several keys also between two steps, when no waiter listens.
    if (request.signal?.aborted) throw this.#turnedAway(request, 'aborted', aborted(key, request.signal))
    const outer = enclosingLease(client, key)
    if (!outer) return room.enter(key, request)
    if (!request.reentrant) {
      const message = `"${key}" is already held by the section around this call, which would wait for itself`
      throw this.#turnedAway(request, 'failed', new LockError('DEADLOCK', message, { key }))
    }
    if (!outer.held) throw this.#turnedAway(request, 'failed', outer.loss ?? lostBeforeRelease(key))
    return outer.enter(request)
  }

  #turnedAway(request: Request, how: 'aborted' | 'failed', error: LockError): LockError {
    if (!request.isPart) this.#keeping.journal.stats.counters[how] += 1
    return error
  }
}
