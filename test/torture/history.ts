/**
 * What happened in a round, as those who took part saw it: one JSON object a line, one file for each process.
 *
 * Times are milliseconds on the monotonic clock that all processes of a machine share (`process.hrtime`). An entry
 * is written at once and without a buffer, so that a process that is killed leaves all that it did.
 */
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** `by`: a worker (`w7`, and `w7.2` after it was replaced once), `nemesis`, or `resource`. */
export type Entry = { readonly at: number; readonly by: string } & Happening

export type Happening = WorkerHappening | StoreHappening | ResourceHappening | NemesisHappening

/** What a worker did through the public API. `id` is one lease, unique within the worker. */
export type WorkerHappening =
  | { readonly is: 'born'; readonly pid: number }
  /** Of several keys, `keys` are in the order of the tokens of the grant. */
  | {
      readonly is: 'ask'
      readonly id: number
      readonly how: 'acquire' | 'try' | 'using' | 're-enter' | 'several'
      readonly keys: readonly string[]
      readonly waitMs: number
      readonly leaseMs: number
    }
  | { readonly is: 'granted'; readonly id: number; readonly tokens: readonly string[] }
  /** Ends an ask: the code of a `LockError`, or `busy` for a `tryAcquire` that got null. */
  | { readonly is: 'refused'; readonly id: number; readonly code: string }
  /** `at` is read before `held` is: if it was held, then it was at that time. The write follows only if it was. */
  | {
      readonly is: 'act'
      readonly id: number
      readonly key: string
      readonly token: string
      readonly held: boolean
    }
  | {
      readonly is: 'acted'
      readonly id: number
      readonly key: string
      readonly answer: 'taken' | 'stale' | 'unknown'
    }
  /** The signal of the lease fired. */
  | { readonly is: 'lost'; readonly id: number }
  | { readonly is: 'release'; readonly id: number }
  /** `ok`: what `release()` resolved to; null if it was rejected, with the code. */
  | { readonly is: 'released'; readonly id: number; readonly ok: boolean | null; readonly code?: string }
  /** The event loop stands still from here until `unblock`; `starved`: not by order, and written down after it. */
  | { readonly is: 'block'; readonly ms: number; readonly starved?: true }
  | { readonly is: 'unblock' }
  | { readonly is: 'closing' }
  /** `close()` has resolved. The process must end by itself now. */
  | { readonly is: 'closed' }
  /** Five seconds after that, it has not ended. `isOurs`: nobody but holdfast opened a client of its store. */
  | { readonly is: 'remains'; readonly resources: readonly string[]; readonly isOurs: boolean }
  /** An event `error` of the client, a warning of the process: for people who read the history. */
  | { readonly is: 'note'; readonly text: string }

/** What passed between the client of a worker and its store. `call` is unique within the worker. */
export type StoreHappening =
  /** An attempt to open the store begins: what was asked meanwhile waits for it, and is not among the calls. */
  | { readonly is: 'opening' }
  /** `at` is before the call was made. */
  | {
      readonly is: 'call'
      readonly call: number
      readonly step: 'acquire' | 'renew' | 'release'
      readonly claims: readonly Claim[]
    }
  /** `answers[i]` belongs to `claims[i]`: the grant number; `no`; `yes` for a release; `fault` where that one failed. */
  | {
      readonly is: 'reply'
      readonly call: number
      readonly answers: readonly (number | 'yes' | 'no' | 'fault')[]
      /** Of those that failed. */
      readonly errors?: readonly string[]
    }
  /** The whole call failed; its outcome is not known. */
  | { readonly is: 'failed'; readonly call: number; readonly error: string }

export interface Claim {
  readonly key: string
  readonly owner: string
  /** Not for a release. */
  readonly leaseMs?: number
}

/** A register for each key behind a guard, and one without; written in the order of these entries. */
export interface ResourceHappening {
  readonly is: 'written'
  readonly worker: string
  readonly id: number
  readonly key: string
  readonly token: string
  /** What the guard said. The register without a guard takes every write. */
  readonly guarded: 'taken' | 'stale'
}

export type NemesisHappening =
  /**
   * `loses`: what the store was told before the end of this fault may be forgotten by it, as after FLUSHALL or a
   * fail-over that had not replicated all. Exclusion is void for grants of before, tokens and guards are not.
   */
  | {
      readonly is: 'fault'
      readonly fault: string
      readonly phase: 'begin' | 'end'
      /** Pairs begin and end. */
      readonly number: number
      /** A worker, a server, or `all`. */
      readonly target: string
      readonly loses: boolean
    }
  /** A forced release was asked for; `grant` is null while, or if, its outcome is not known; 0 if nothing was held. */
  | {
      readonly is: 'evict'
      readonly key: string
      readonly number: number
      readonly phase: 'begin' | 'end'
      readonly grant: number | null
    }
  /** A worker ended; `code` is its exit code or signal, `wanted` whether the nemesis or the end of the round did it. */
  | { readonly is: 'died'; readonly worker: string; readonly code: string; readonly wanted: boolean }
  /** From here on there are no faults: everything that waits must come to its turn. */
  | { readonly is: 'calm' }
  /** What the store listed while the workers ended; `at` is before it was asked. */
  | { readonly is: 'listed'; readonly locks: readonly Listed[] }
  /** What the store still listed when all had closed and the longest lease of a dead worker had run out. */
  | { readonly is: 'left'; readonly locks: readonly Listed[] }

/** A key that is held, as the store says. */
export interface Listed {
  readonly key: string
  /** A worker. */
  readonly by: string
  readonly grant: number
}

export class HistoryWriter {
  readonly #file: number
  readonly #by: string

  constructor(folder: string, by: string) {
    this.#by = by
    this.#file = openSync(join(folder, `${by}.jsonl`), 'a')
  }

  note(happening: Happening, at: number = now()): void {
    writeSync(this.#file, `${JSON.stringify({ at, by: this.#by, ...happening })}\n`)
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** All files of a folder, in the order of time. The last line of a process that was killed may be a part of one. */
export function readHistory(folder: string): Entry[] {
  const entries: Entry[] = []
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.jsonl'))) {
    const lines = readFileSync(join(folder, file), 'utf8').split('\n')
    lines.forEach((line, index) => {
      if (line === '') return
      try {
        entries.push(JSON.parse(line) as Entry)
      } catch (error) {
        if (index < lines.length - 1) throw error
      }
    })
  }
  return entries.sort((a, b) => a.at - b.at)
}
