/** From when it was called until it was answered: somewhere in between it took effect, all at once. */
export interface Operation<I> {
  readonly from: number
  /** Infinity if no answer came: then it may have taken effect later, or never. */
  readonly to: number
  readonly does: I
}

/** What a thing does if operations come one after the other. */
export interface Model<I, S> {
  readonly name: string
  readonly start: S
  /** The state after it; null if it cannot happen in this state. */
  step(state: S, operation: I): S | null
}

/**
 * Whether some order of the operations, in which none comes before one that was answered before it was called, is
 * possible by the model. Null if that was not decided within `maxStates`.
 *
 * The search of Wing and Gong, which tries all orders, with the memory of Lowe: the same operations done and the same
 * state need not be tried again. States are told apart by what `String` makes of them.
 */
export function linearizable<I, S>(
  model: Model<I, S>,
  operations: readonly Operation<I>[],
  maxStates = 50_000,
): boolean | null {
  const order = [...operations].sort((a, b) => a.from - b.from)
  const at = (i: number): Operation<I> => order[i] as Operation<I>
  const visited = new Set<string>()

  /** `done` has a bit for each operation, by its place in `order`; all before `start` are done. */
  function search(done: bigint, start: number, state: S): boolean {
    let first = start
    while (isDone(done, first)) first += 1
    const open: number[] = []
    let firstAnswer = Infinity
    for (let i = first; i < order.length && at(i).from <= firstAnswer; i += 1) {
      if (isDone(done, i)) continue
      open.push(i)
      firstAnswer = Math.min(firstAnswer, at(i).to)
    }
    // Those that were never answered need not happen.
    if (firstAnswer === Infinity) return true
    const id = `${done.toString(36)} ${String(state)}`
    if (visited.has(id) || visited.size >= maxStates) return false
    visited.add(id)
    // Most often they took effect in the order of their answers.
    for (const i of open.sort((a, b) => at(a).to - at(b).to)) {
      const after = model.step(state, at(i).does)
      if (after !== null && search(done | (1n << BigInt(i)), first, after)) return true
    }
    return false
  }

  return search(0n, 0, model.start) || (visited.size >= maxStates ? null : false)
}

function isDone(done: bigint, i: number): boolean {
  return (done & (1n << BigInt(i))) !== 0n
}
