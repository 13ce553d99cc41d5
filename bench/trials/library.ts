/** How a trial uses a library, whichever it is. Each file of `libraries/` makes one of these from a package. */
export interface Library {
  /** Runs `body` under the lock the way the package's own README does, with renewal where it has one. */
  section<T>(key: string, terms: Terms, body: (held: Held) => Promise<T>): Promise<T>
  /** Without renewal, wherever it can be turned off. Rejects if the lock is not had in time. */
  take(key: string, terms: Terms): Promise<Taken>
  /** Several keys at once. Absent: it takes one at a time. */
  takeAll?(keys: readonly string[], terms: Terms): Promise<Taken>
  /** Takes the lock from its holder, as an operator would. Absent: there is no way but to delete its data. */
  evict?(key: string): Promise<void>
  close(): Promise<unknown>
}

export interface Terms {
  readonly leaseMs: number
  /** Absent: as long as the package does by default. 0: one try. */
  readonly waitMs?: number
  /** Gives up asking. Only for packages that take one. */
  readonly signal?: AbortSignal
}

export interface Held {
  /** Calls back when the library says of its own accord that the lock is lost. Absent: it never does. */
  readonly onLoss?: (told: () => void) => void
  /** What it says when it is asked, without asking the server. Absent: it cannot be asked. */
  readonly says?: () => boolean
  /** The fencing token. Absent: there is none. */
  readonly token?: bigint
}

export interface Taken extends Held {
  release(): Promise<unknown>
}

/** What a library is opened with. */
export interface Access {
  /** Of a cluster: of its nodes, with commas between them. */
  readonly url: string
  readonly cluster?: boolean
  /** The limit of a command that the client of the database has; none by default. */
  readonly commandTimeoutMs?: number
}

export function refused(key: string): Error {
  return new Error(`could not get "${key}"`)
}

/** A section for packages that only have acquire and release. */
export async function between<T>(taken: Taken, body: (held: Held) => Promise<T>): Promise<T> {
  try {
    return await body(taken)
  } finally {
    await taken.release()
  }
}

export function onAbort(signal: AbortSignal): (told: () => void) => void {
  return (told) => (signal.aborted ? told() : signal.addEventListener('abort', told, { once: true }))
}
