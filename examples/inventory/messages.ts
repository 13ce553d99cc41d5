import type { LockStats } from '../../src/index.ts'
import type { Keeping } from './stock-room.ts'

/** From the parent to a service. */
export type Word =
  | { readonly do: 'keep'; readonly keeping: Keeping }
  /** Stand still at the next moment in which it holds a lock and writes nothing. */
  | { readonly do: 'pause' }
  | { readonly do: 'report' }
  | { readonly do: 'stop' }

/** From a service to its parent. */
export type Report =
  | { readonly is: 'ready'; readonly url: string }
  /** It holds the lock of this commodity, and has not written yet; null: no more. */
  | { readonly is: 'thinking'; readonly code: string | null }
  /** It holds the lock of this commodity, and stands still from now on. */
  | { readonly is: 'paused'; readonly code: string }
  | { readonly is: 'usage'; readonly usage: Usage }

export interface Usage {
  readonly stats: LockStats
  /** Processor time since it began. */
  readonly cpuMs: number
  readonly rssBytes: number
  readonly heapBytes: number
  readonly connections: number
}

export type ServiceName = 'business' | 'storage'

/** How the parent sets a service up: a value for each variable of its environment. */
export interface Setup {
  readonly locks: string
  readonly stock: string
  readonly keeping: Keeping
  readonly thinkMs: number
  readonly lease: string
  readonly wait: string
}
