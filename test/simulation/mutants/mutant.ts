/** A deliberate bug. Each `find` must occur exactly once in its file, or the list is out of date. */
export interface Mutant {
  /** What is wrong with it, as a bug report would say. */
  readonly bug: string
  readonly changes: readonly Change[]
  /** The unit tests that must catch it, where the simulation does not come by. A part of their path. */
  readonly tests?: string
}

export interface Change {
  /** From the root of the repository. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

export function mutant(bug: string, file: string, find: string, replace: string): Mutant {
  return { bug, changes: [{ file, find, replace }] }
}
