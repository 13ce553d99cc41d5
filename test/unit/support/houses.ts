import type { Store } from '../../../src/store.ts'
import { memoryStore } from '../../../src/stores/memory.ts'
import { movingStore } from '../../../src/stores/moving/index.ts'

export const MINUTE = 60_000

/** A store whose clock is off by that much. */
function shifted(ms: number): Store {
  return memoryStore({ now: () => performance.timeOrigin + performance.now() + ms })
}

interface House {
  readonly from: Store
  readonly to: Store
  readonly moving: Store
}

/** Two stores whose clocks are off by that much, and a move between them. */
export function house(fromMs = 0, toMs = 0): House {
  const from = shifted(fromMs)
  const to = shifted(toMs)
  return { from, to, moving: movingStore({ from, to }) }
}

export async function held(store: Store, key: string): Promise<number | null> {
  return (await store.list({ key, limit: 1 })).locks[0]?.grant ?? null
}

/** Fails with that until it is mended. */
export function broken(store: Store, step: 'acquire' | 'renew' | 'release'): { mend(): void } {
  const right = store[step].bind(store)
  Object.assign(store, { [step]: () => Promise.reject(new Error(`no ${step}`)) })
  return { mend: () => Object.assign(store, { [step]: right }) }
}

export async function turnsOfTheLoop(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** Each call reaches the store, and its answer comes back, some turns of the event loop later. */
export function slowed(store: Store): void {
  const pause = (): Promise<void> => turnsOfTheLoop(Math.random() * 4)
  for (const step of ['acquire', 'renew'] as const) {
    const right = store[step].bind(store) as (items: never) => Promise<never>
    const late = async (items: never): Promise<never> => {
      await pause()
      const answers = await right(items)
      await pause()
      return answers
    }
    Object.assign(store, { [step]: late })
  }
}

export function isFault(answer: object | undefined): boolean {
  return answer !== undefined && 'error' in answer
}
