import { setTimeout } from 'node:timers/promises'
import { Crew, serve } from './crew.ts'
import type { Opened } from './opened.ts'
import { clock, inOrder, refuseOverlap, type Stay } from './stay.ts'

interface Hold extends Stay {
  /** When it asked for the key. */
  readonly asked: number
  readonly pid: number
}

interface Rhythm {
  /** Long enough for the other to be in line. */
  readonly holdMs: number
  /** Long enough for the other to get it: whoever asks meanwhile may be faster. */
  readonly pauseMs: number
}

/** One of the two processes that a key goes to and fro between. */
export function carryBaton(opened: Opened, count: number, { holdMs, pauseMs }: Rhythm): void {
  const run = async (times: number): Promise<Hold[]> => {
    const holds: Hold[] = []
    for (let i = 0; i < times; i += 1) {
      const asked = clock()
      const unlock = await opened.lock('baton')
      const from = clock()
      await setTimeout(holdMs)
      holds.push({ asked, from, to: clock(), pid: process.pid })
      await unlock()
      await setTimeout(pauseMs)
    }
    return holds
  }
  serve({ 'warm up': () => run(20), measure: () => run(count) }, () => opened.close())
}

/**
 * In ms, from the moment when one gives the key back to the moment when the other has it, who must have asked for it
 * `inLineMs` before. `file` is the program of the two.
 */
export async function passBaton(file: URL, args: readonly string[], inLineMs: number): Promise<number[]> {
  const crew = await Crew.gather(2, file, args)
  await crew.tell('warm up')
  const passed = passes(await crew.tell('measure'), inLineMs)
  await crew.dismiss()
  return passed
}

function passes(all: readonly (readonly Hold[])[], inLineMs: number): number[] {
  const holds = inOrder(all.flat())
  refuseOverlap(holds)
  const passed = holds.flatMap(({ asked, from, pid }, i) => {
    const before = holds[i - 1]
    return before && before.pid !== pid && asked < before.to - inLineMs ? [from - before.to] : []
  })
  const least = holds.length / 2
  if (passed.length < least) throw new Error(`it went from one to the other ${passed.length} times only`)
  return passed
}
