/** One fault, planned: who is hit, how, and for how long. */
export interface Strike {
  /** Faults are counted by this name. */
  readonly fault: string
  /** A worker, a server, or `all`. */
  readonly target: string
  /** Whether the store may forget what it was told. */
  readonly loses: boolean
  /** How long until it is healed. */
  readonly ms: number
  begin(): unknown
  /** Resolves when all is as it was. */
  end(): unknown
}
