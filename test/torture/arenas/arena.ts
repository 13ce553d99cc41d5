import type { Random } from '../../simulation/random.ts'
import type { StoreAddress } from '../worker/clients.ts'
import type { Strike } from '../nemesis/strike.ts'

/** A kind of store on servers of its own, and what may befall them. */
export interface Arena {
  /** For one who looks on, past all proxies. */
  readonly url: string
  /** Those of the workers take turns. */
  readonly addresses: readonly StoreAddress[]
  /** Where its clients connect to; none without a network. */
  readonly ports: readonly number[]
  strike(random: Random): Strike
  /** Who leads whom, where that matters. It changes by a fail-over, which may also come when nobody asked for it. */
  readonly roles?: (() => Promise<string>) | undefined
  /** Writes what the servers have said into files of the folder. */
  keepLogs(): void
  stop(): Promise<void>
}

/** `folder`: for its files, those of SQLite included. */
export type OpenArena = (folder: string) => Promise<Arena>
