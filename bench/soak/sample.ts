import type { Done } from './load.ts'

/** How long a record stays after its key came free. Short, so that what comes and what goes are soon in balance. */
export const KEEP_MINUTES = 5

/** As the process sees itself, after a collection. */
export interface Inside {
  readonly heapKiB: number
  readonly rssMiB: number
  /** By kind, of those that keep a process alive. */
  readonly handles: Readonly<Record<string, number>>
  readonly openFiles: number
  /** Leases, since the start. */
  readonly lost: number
  readonly done: Done
}

/** As the server sees it. */
export interface Outside {
  readonly connections: number
  readonly records: number
  readonly storageKiB: number
}

export interface Sample extends Inside, Outside {
  /** Since the start. */
  readonly hours: number
}
