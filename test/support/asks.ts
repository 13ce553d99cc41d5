import type { Answer, Ask, Store } from '../../src/store.ts'

let owners = 0

export function askFor(key: string, over: Partial<Ask> = {}): Ask {
  owners += 1
  return {
    key,
    owner: `owner-${process.pid}-${owners}`,
    leaseMs: 60_000,
    holder: { service: 'test', instance: 'one', context: null },
    ...over,
  }
}

export async function acquire(store: Store, ask: Ask): Promise<Answer> {
  const [answer] = (await store.acquire([ask])) as Answer[]
  if (!answer) throw new Error('no answer')
  return answer
}

/** The grant number, or an error if the key was denied. */
export async function grantOf(store: Store, ask: Ask): Promise<number> {
  const answer = await acquire(store, ask)
  if (!answer.granted) throw new Error(`${ask.key} was denied`)
  return answer.grant
}
