/**
 * Lends `values` to a query, and takes them back if it fails, as by its time limit. A driver keeps what it cannot send
 * yet, for as long as it takes to get a connection, and carries it out when nobody waits for it any more. It reads the
 * values when it sends them: `ask` must hand on the array itself, and what is asked must do nothing without them.
 */
export async function lendValues<V, T>(values: readonly V[], ask: (lent: V[]) => PromiseLike<T>): Promise<T> {
  const lent = [...values]
  try {
    return await ask(lent)
  } catch (error) {
    ;(lent as (V | null)[]).fill(null)
    throw error
  }
}
