/** One of the processes that wait for their turn. */
import { setTimeout } from 'node:timers/promises'
import { serve } from '../crew.ts'
import { clock, type Stay } from '../redis/stay.ts'
import { open } from './contenders.ts'
import type { MongoContender } from './figures.ts'

const HOLD_MS = 25

const [url = '', given = ''] = process.argv.slice(2)
const contender = JSON.parse(given) as MongoContender
const opened = await open(contender, url)

/** Connections are open, the change stream is up, and the code compiled. */
async function warmUp(): Promise<void> {
  const other = await open(contender, url)
  const key = `warm up ${process.pid}`
  for (let i = 0; i < 5; i += 1) {
    const unlock = await other.lock(key)
    const next = opened.lock(key)
    await setTimeout(30)
    await unlock()
    await (
      await next
    )()
  }
  await other.close()
}

async function turn(): Promise<Stay> {
  const unlock = await opened.lock('turn')
  const from = clock()
  await setTimeout(HOLD_MS)
  const to = clock()
  await unlock()
  return { from, to }
}

await warmUp()
serve({ turn }, async () => {
  await opened.close()
  // Peers leave connections and timers behind.
  setImmediate(() => process.exit())
})
