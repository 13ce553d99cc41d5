import { closeSync, openSync } from 'node:fs'
import { type Born, processes } from './processes.ts'

/** The command and those it has started: whom a signal has to reach. */
export interface Family {
  /** As `kill` takes it: the number of a process, or of a group with a minus. */
  readonly target: number
  readonly isAlive: boolean
  signal(name: NodeJS.Signals): void
}

/**
 * Whether there is a terminal that gives out signals and lets only one group of processes read. A command must not
 * be in a group of its own there: it could not be interrupted by a key, nor ask for a password.
 */
export function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r+'))
    return true
  } catch {
    return false
  }
}

/** All in the group that the command leads: also those whose parents have ended, not those that left it. */
export class Group implements Family {
  readonly target: number

  constructor(leader: number) {
    this.target = -leader
  }

  /** The dead count to the group until someone asks for them, which nobody may do for long in a container. */
  get isAlive(): boolean {
    if (!send(this.target, 0)) return false
    return [...processes().values()].some(({ group }) => group === -this.target)
  }

  signal(name: NodeJS.Signals): void {
    send(this.target, name)
  }
}

/** All that descend from the command at the time of a signal. One whose parent has ended before is not found. */
export class Descendants implements Family {
  readonly target: number
  readonly #known = new Map<number, Born>()

  /** Right after its start: until this process has heard of its end, the number is its own. */
  constructor(first: number) {
    this.target = first
    const born = processes().get(first)?.born
    if (born !== undefined) this.#known.set(first, born)
  }

  get isAlive(): boolean {
    return this.#living().length > 0
  }

  signal(name: NodeJS.Signals): void {
    for (const pid of this.#living()) send(pid, name)
  }

  /** Those that were found once stay known, so that they are found when their parents have ended. */
  #living(): number[] {
    const all = processes()
    // A number may have passed to a process that has nothing to do with it.
    const isKnown = (pid: number): boolean =>
      this.#known.has(pid) && this.#known.get(pid) === all.get(pid)?.born
    for (let found = true; found;) {
      found = false
      for (const [pid, { parent, born }] of all) {
        if (isKnown(pid) || !isKnown(parent)) continue
        this.#known.set(pid, born)
        found = true
      }
    }
    return [...this.#known.keys()].filter(isKnown)
  }
}

/** False if there is none, and if it may not be signalled: nobody could wait for the end of such a one. */
export function send(target: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(target, name)
  } catch {
    return false
  }
}
