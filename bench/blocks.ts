import { percentile } from './percentile.ts'

/** Takes a key and gives it back. */
type Pair = (key: string) => Promise<void>

interface Blocks {
  readonly blocks: number
  /** Of each block. */
  readonly pairs: number
  /** Blocks that do not count. */
  readonly warmUp: number
}

/**
 * The medians, in ms, of two who take turns with a block of pairs each: a busy moment of the machine meets both, and
 * the first pair after a change, which is slower, is one of many.
 */
export async function inBlocks(
  own: Pair,
  raw: Pair,
  { blocks, pairs, warmUp }: Blocks,
): Promise<[number, number]> {
  const [ownMs, rawMs]: [number[], number[]] = [[], []]
  for (let block = -warmUp; block < blocks; block += 1) {
    const [first, second] = [await timesOf(own, pairs), await timesOf(raw, pairs)]
    if (block < 0) continue
    ownMs.push(...first)
    rawMs.push(...second)
  }
  return [percentile(ownMs, 50), percentile(rawMs, 50)]
}

/** Of one block, in ms. */
export async function timesOf(pair: Pair, count: number): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < count; i += 1) {
    const start = performance.now()
    await pair(`key ${i}`)
    times.push(performance.now() - start)
  }
  return times
}
