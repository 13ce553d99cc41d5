/** When someone had the key. */
export interface Stay {
  readonly from: number
  readonly to: number
}

/** In ms, the same for all processes of the machine. */
export function clock(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** In the order in which they had it. */
export function inOrder<T extends Stay>(stays: readonly T[]): T[] {
  return stays.toSorted((a, b) => a.from - b.from)
}

export function refuseOverlap(stays: readonly Stay[]): void {
  let end = -Infinity
  for (const { from, to } of inOrder(stays)) {
    if (from < end) throw new Error('two were inside')
    end = to
  }
}
