/** One of the two processes that a key goes to and fro between. */
import { setTimeout } from 'node:timers/promises'
import { serve } from '../crew.ts'
import { clock, type Stay } from '../stay.ts'
import { open } from './contenders.ts'

/** Long enough for the other to be in line. */
const HOLD_MS = 60
/** Long enough for the other to get it: whoever asks meanwhile may be faster. */
const PAUSE_MS = 20

export interface Hold extends Stay {
  /** When it asked for the key. */
  readonly asked: number
  readonly pid: number
}

const [url = '', count = ''] = process.argv.slice(2)
const opened = await open({ kind: 'holdfast' }, url)

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
