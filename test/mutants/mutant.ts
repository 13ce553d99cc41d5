/** A deliberate bug. */
export interface Bug {
  /** As a bug report would say it. */
  readonly bug: string
  /** Each `find` must occur exactly once in its file, or the list is out of date. */
  readonly changes: readonly Change[]
  /** The tests that must catch it by their full names, a regular expression; without, any of the file. */
  readonly only?: string | undefined
  /** Where they are, if not with the others of its part. */
  readonly tests?: string | undefined
}

export interface Change {
  /** From the root of the repository. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

/** A bug in its place, and what must catch it. */
export interface Mutant extends Bug {
  /** For people: core, a store, a guard. */
  readonly part: string
}

/**
 * `tests`: a file of tests, or the beginning of several, from the root of the repository. Its folder is the project.
 * Without, the simulation must catch them.
 */
export function mutantsOf(part: string, tests: string | undefined, bugs: readonly Bug[]): Mutant[] {
  return bugs.map((bug) => ({ ...bug, part, tests: bug.tests ?? tests }))
}

/** `only`: as in `Bug`. */
export function mutant(bug: string, file: string, find: string, replace: string, only?: string): Bug {
  return { bug, changes: [{ file, find, replace }], only }
}
