import { isLockPage, isLockRecord } from './answers.ts'
import type { Connection } from './connection.ts'
import type { Environment } from './environment.ts'
import type { LockError } from './errors.ts'
import type { Journal } from './monitor/journal.ts'
import type { ListQuery, LockPage, LockRecord } from './store.ts'
import type { WaitingRoom } from './waiting-room.ts'

export interface Health {
  readonly ok: boolean
  readonly store: string
  /** How long the store took to answer just now; null if it did not. */
  readonly latencyMs: number | null
  readonly error: LockError | null
}

interface RecordsKeeping {
  readonly env: Environment
  readonly connection: Connection
  readonly journal: Journal
  readonly room: WaitingRoom
}

/** What the store knows of all clients, for people. */
export class Records {
  readonly #keeping: RecordsKeeping

  constructor(keeping: RecordsKeeping) {
    this.#keeping = keeping
  }

  async list(query: ListQuery): Promise<LockPage> {
    const { connection } = this.#keeping
    const page = await connection.ask({ name: 'list', keys: 1, step: (store) => store.list(query) })
    if (!isLockPage(page)) throw this.#nonsense('list')
    return page
  }

  async evict(key: string, grant: number | undefined): Promise<LockRecord | null> {
    const { connection, journal, room } = this.#keeping
    const record = await connection.ask({ name: 'evict', keys: 1, step: (store) => store.evict(key, grant) })
    if (record !== null && !isLockRecord(record)) throw this.#nonsense('evict')
    if (record) {
      journal.evicted(key, record)
      room.evicted(record)
    }
    return record
  }

  /** Never rejects: a store that is down is an answer. */
  async health(): Promise<Health> {
    const { connection, env } = this.#keeping
    const start = env.now()
    try {
      // One key, which need not be there: to find any held one, a store may have to read all that are not.
      await this.list({ key: 'holdfast:health', limit: 1 })
      return { ok: true, store: connection.name, latencyMs: env.now() - start, error: null }
    } catch (error) {
      return { ok: false, store: connection.name, latencyMs: null, error: error as LockError }
    }
  }

  #nonsense(step: string): LockError {
    return this.#keeping.connection.asLockError(new Error(`a wrong answer to ${step}`))
  }
}
