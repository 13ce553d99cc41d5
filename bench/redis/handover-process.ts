/** One of the two processes that a key goes to and fro between. */
import { setTimeout } from 'node:timers/promises'
import { serve } from '../crew.ts'
import { open } from './contenders.ts'
import { clock, type Stay } from '../stay.ts'

/** Long enough for the other to be in line. */
const HOLD_MS = 10
/** Long enough for the other to get it: whoever asks meanwhile may be faster. */
const PAUSE_MS = 4

export interface Hold extends Stay {
  /** When it asked for the key. */
  readonly asked: number
  readonly pid: number
}

const [url = '', prefix = '', count = ''] = process.argv.slice(2)
const opened = await open({ kind: 'holdfast' }, url, prefix)

async function run(times: number): Promise<Hold[]> {
  const holds: Hold[] = []
  for (let i = 0; i < times; i += 1) {
    const asked = clock()
    const unlock = await opened.lock('baton')
    const from = clock()
    await setTimeout(HOLD_MS)
    holds.push({ asked, from, to: clock(), pid: process.pid })
    await unlock()
    await setTimeout(PAUSE_MS)
  }
  return holds
}

serve({ 'warm up': () => run(20), measure: () => run(Number(count)) }, () => opened.close())
