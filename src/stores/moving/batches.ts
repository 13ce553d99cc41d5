import { backgroundTimers, within } from '../../databases/limit.ts'
import { LockError } from '../../errors.ts'
import type { Answer, Denial, Fault, Grant, Store } from '../../store.ts'

/** The two stores of a move. */
export interface Houses {
  readonly from: Store
  readonly to: Store
}

/** How long one store may hold up what is to be done in the other. Below the limit of a call. */
export const HOLD_UP_MS = 500

/** The answers of one store to a batch, each in its place; undefined where it was not asked. */
export type Answers<A> = readonly (A | Fault | undefined)[]

/** Calls a step with those of the items that are picked, in one call; with none, not at all. Never rejects. */
export async function answersTo<I, A extends object>(
  items: readonly I[],
  step: (items: readonly I[]) => Promise<readonly (A | Fault)[]>,
  picked: (index: number) => boolean = () => true,
): Promise<Answers<A>> {
  const places = items.flatMap((_, index) => (picked(index) ? [index] : []))
  const answers: (A | Fault | undefined)[] = Array.from({ length: items.length })
  if (places.length === 0) return answers
  try {
    const given = await step(places.map((index) => items[index] as I))
    places.forEach((index, i) => (answers[index] = given[i] ?? { error: new Error('no answer') }))
  } catch (error) {
    for (const index of places) answers[index] = { error }
  }
  return answers
}

export function isFault(answer: object): answer is Fault {
  return 'error' in answer
}

export function isGranted(answer: Answer | Fault | undefined): answer is Grant {
  return answer !== undefined && 'granted' in answer && answer.granted
}

export function isDenied(answer: Answer | Fault | undefined): answer is Denial {
  return answer !== undefined && 'granted' in answer && !answer.granted
}

/** The end of some work, good or bad; but no longer than that. */
export async function ended(work: Promise<unknown>, limitMs: number): Promise<void> {
  await within(work, limitMs, () => new Error('late'), undefined, backgroundTimers).catch(() => undefined)
}

export function lostMeanwhile(key: string): Fault {
  const message = `"${key}" was lost in one of the two stores of the move while it was being taken`
  return { error: new LockError('STORE_UNAVAILABLE', message, { key }) }
}

export function notRaised(key: string): Fault {
  const message =
    `a store of the move did not raise the grant number of "${key}" when it was told to: ` +
    'it may not know raiseTo, see docs/writing-a-store.md'
  return { error: new LockError('STORE_UNAVAILABLE', message, { key }) }
}
