import type * as Decorators from '../../src/decorators.ts'
import { holdfast } from '../built.ts'
import { percentile } from '../percentile.ts'
import type { Samples } from '../throughput.ts'

const BLOCKS = 300
const CALLS = 500
/** Blocks that do not count. */
const WARM_UP = 60
/** Of the blocks, from the fastest on: others on the machine only ever make one slower. */
const QUIET = 25

type Take = (item: { readonly sku: string }, count: number) => Promise<number>

/**
 * What a call costs more than the same call in `using`, on the memory store: one task on one key. They take turns with
 * a block of calls each, and in another order each time: the first pays for what the last has left to collect.
 */
export async function overUsing(): Promise<Samples> {
  const name: string = 'holdfast/decorators'
  const { locked }: typeof Decorators = await import(name)
  const locks = holdfast.createLocks(holdfast.memoryStore())
  const take: Take = async (_item, count) => count
  const apply = locked((self: { readonly locks: typeof locks }) => self.locks, { key: 'stock:{0.sku}:{1}' })
  const context = { kind: 'method', name: 'take' } as ClassMethodDecoratorContext<{ locks: typeof locks }>
  const method = apply(take, context) as unknown as (
    this: object,
    ...args: Parameters<Take>
  ) => Promise<number>
  const contenders: Record<string, Take> = {
    using: (item, count) => locks.using(`stock:${item.sku}:${count}`, () => take(item, count)),
    keyFunction: locks.lockable(take, { key: (item, count) => `stock:${item.sku}:${count}` }),
    template: locks.lockable(take, { key: 'stock:{0.sku}:{1}' }),
    fallback: locks.lockable(take, { key: 'stock:{0.sku}:{1}', onFail: { fallback: () => 0 } }),
    retry: locks.lockable(take, { key: 'stock:{0.sku}:{1}', onFail: { retry: 3 } }),
    decorator: (item, count) => method.call({ locks }, item, count),
  }
  const times: Record<string, number[]> = {}
  const turns = Object.entries(contenders)
  for (let block = -WARM_UP; block < BLOCKS; block += 1) {
    turns.push(...turns.splice(0, 1))
    for (const [one, call] of turns) {
      const microseconds = await timeOf(call)
      if (block >= 0) (times[one] ??= []).push(microseconds)
    }
  }
  await locks.close()
  const { using = NaN, ...others } = Object.fromEntries(
    Object.entries(times).map(([one, values]) => [one, percentile(values, QUIET)]),
  )
  const over = Object.entries(others).map(([one, microseconds]) => [`${one}Us`, [microseconds - using]])
  return { usingUs: [using], ...Object.fromEntries(over) }
}

/** Of one call, in µs. */
async function timeOf(take: Take): Promise<number> {
  const start = performance.now()
  for (let i = 0; i < CALLS; i += 1) await take({ sku: 'a-1' }, 7)
  return ((performance.now() - start) * 1000) / CALLS
}
