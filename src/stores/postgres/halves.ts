import type { Fault } from '../../store.ts'

/** Below this, a second statement costs more than it wins. */
const WORTH_HALVING = 40

/**
 * Does a large batch as two, at the same time: a statement keeps one core of the server busy, and most servers have
 * more. Atomic is each key, not the batch. If one half fails, the other is still done.
 */
export async function inHalves<I, O>(
  items: readonly I[],
  step: (items: readonly I[]) => Promise<readonly O[]>,
): Promise<readonly (O | Fault)[]> {
  if (items.length < WORTH_HALVING) return step(items)
  const middle = items.length >> 1
  const halves = [items.slice(0, middle), items.slice(middle)]
  const outcomes = await Promise.allSettled(halves.map(step))
  return outcomes.flatMap((outcome, index): readonly (O | Fault)[] =>
    outcome.status === 'fulfilled'
      ? outcome.value
      : (halves[index] ?? []).map(() => ({ error: outcome.reason as unknown })),
  )
}
