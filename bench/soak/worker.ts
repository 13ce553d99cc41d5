/** The process that is watched: it works steadily, and says how much memory and what else it has when it is asked. */
import { readdirSync } from 'node:fs'
import type { Locks } from '../../src/index.ts'
import { holdfast } from '../built.ts'
import { serve } from '../crew.ts'
import { settledHeap } from '../heap.ts'
import { type Served, storeAt } from '../store-at.ts'
import { Load } from './load.ts'
import { type Inside, KEEP_MINUTES } from './sample.ts'

const [kind, url] = process.argv.slice(2) as [Served, string]
const open = async (): Promise<Locks> =>
  holdfast.createLocks(await storeAt(kind, url, `${KEEP_MINUTES}m`), { logger: null })
const clients = [await open(), await open()]
const load = new Load(clients)
// Whatever becomes of the one who asks.
process.once('disconnect', () => process.exit())

/** Between two tasks: what is under way is no leak. */
async function sample(): Promise<Inside> {
  await load.pause()
  const heapUsed = await settledHeap()
  const { rss } = process.memoryUsage()
  const handles: Record<string, number> = {}
  for (const each of process.getActiveResourcesInfo()) handles[each] = (handles[each] ?? 0) + 1
  const openFiles = openFilesOf()
  load.start()
  return {
    heapKiB: heapUsed / 1024,
    rssMiB: rss / 2 ** 20,
    handles,
    openFiles,
    lost: lost(),
    done: load.done,
  }
}

function lost(): number {
  return clients.reduce((sum, client) => sum + client.stats().lost, 0)
}

/** Sockets as well. Linux tells; others do not. */
function openFilesOf(): number {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return 0
  }
}

await load.stretch()
serve({ sample }, async () => {
  await load.stop()
  for (const client of clients) await client.close()
})
load.start()
