/** One of the processes that compete for one key: ten tasks, each in again and again. */
import type { Contender } from '../figures.ts'
import { open } from './contenders.ts'
import { serve } from '../crew.ts'

const TASKS = 10
const WARM_UP_MS = 1_000
const MEASURED_MS = 3_000

const [url = '', contender = ''] = process.argv.slice(2)
const opened = await open(JSON.parse(contender) as Contender, url)

const TURN = Promise.resolve()
let inside = 0
let sections = 0

async function task(until: number): Promise<void> {
  while (performance.now() < until) {
    const unlock = await opened.lock('one key')
    inside += 1
    await TURN
    if (inside !== 1) throw new Error('two were inside')
    inside -= 1
    sections += 1
    await unlock()
  }
}

async function run(forMs: number): Promise<number> {
  sections = 0
  const until = performance.now() + forMs
  await Promise.all(Array.from({ length: TASKS }, () => task(until)))
  return sections
}

serve({ 'warm up': () => run(WARM_UP_MS), measure: () => run(MEASURED_MS) }, () => opened.close())
