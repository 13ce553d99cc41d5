/** One of the processes that wait for their turn. */
import { setTimeout } from 'node:timers/promises'
import { holdfast } from '../built.ts'
import { serve } from '../crew.ts'

const HOLD_MS = 25

const [url = ''] = process.argv.slice(2)
const locks = holdfast.createLocks(url, { wait: '60s' })

/** Connections are open, statements prepared, the listener up, and the code compiled. */
async function warmUp(): Promise<void> {
  const other = holdfast.createLocks(url)
  const key = `warm up ${process.pid}`
  for (let i = 0; i < 10; i += 1) {
    const lease = await other.acquire(key)
    const next = locks.acquire(key)
    await setTimeout(50)
    await lease.release()
    await (await next).release()
  }
  await other.close()
}

async function turn(): Promise<Turn> {
  return locks.using('turn', async () => {
    const from = clock()
    await setTimeout(HOLD_MS)
    return { from, to: clock() }
  })
}

export interface Turn {
  readonly from: number
  readonly to: number
}

/** In ms, the same for all processes of the machine. */
function clock(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

await warmUp()
serve({ turn }, () => locks.close())
