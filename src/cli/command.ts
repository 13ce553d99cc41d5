import type { StoreSettings } from '../config/settings.ts'
import type { Environ } from '../config/variables.ts'
import type { Locks } from '../locks.ts'

export interface Terminal {
  readonly out: NodeJS.WritableStream
  readonly err: NodeJS.WritableStream
  /** Whether `out` is a terminal. */
  readonly isTTY: boolean
  readonly colour: boolean
  /** Infinity where nothing has to be cut, as in a pipe. */
  readonly columns: number
}

export interface Invocation {
  /** What stands behind the name of the command, `--` included. */
  readonly args: readonly string[]
  /** By --store, HOLDFAST_STORE or the config file; the command closes it. */
  readonly openLocks: () => Promise<Locks>
  readonly terminal: Terminal
  /** For what must not stand among the arguments, where others can see it. */
  readonly env?: Environ
  /** Of the store that `openLocks` would open. Never to be shown: the URL may have a password in it. */
  readonly storeSettings?: () => Promise<StoreSettings>
}

export interface Command {
  readonly name: string
  readonly summary: string
  /** All that `holdfast help <command>` shows. Shells complete the options that are named in it. */
  readonly help: string
  /** Resolves to the exit code. */
  readonly run: (invocation: Invocation) => Promise<number>
}

/** Shown with "see holdfast <command> --help", exit code 64. */
export class UsageError extends Error {}
