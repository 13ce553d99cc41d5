/**
 * `npm run torture -- --store postgres --minutes 10 --seed 1`: processes take locks on real servers while these, the
 * processes and the network between them are harmed in every way, and a checker looks at what they saw. What it does
 * and how to read what it says: docs/proof.md.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { isStore, STORES, type StoreName } from './arenas/index.ts'
import { runAll } from './all.ts'
import { runStore } from './run.ts'
import { type Result, table } from './table.ts'

const USAGE = `npm run torture -- [options]
  --store NAME     ${STORES.join(', ')}, or all of them at once (default)
  --minutes N      for each store (default 2)
  --round N        minutes that a round has at most: each begins with new servers and workers (default 2)
  --seed N         of the first round; each round has the next one (default 1)
  --workers N      processes for each store (default 20)
  --rate N         operations a second on each store (default 80; 30 for all)
  --keep FOLDER    keep the histories of all rounds, not only of those that fail
  --json FILE      write the figures there`

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'all' },
    minutes: { type: 'string', default: '2' },
    round: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: '20' },
    rate: { type: 'string' },
    keep: { type: 'string' },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

// One of several, which end with the one that started them.
if (process.send) process.on('disconnect', () => process.exit(1))

if (values.help) console.log(USAGE)
else await main(values.store)

async function main(store: string): Promise<void> {
  if (store !== 'all' && !isStore(store)) throw new Error(`--store: no ${store}\n${USAGE}`)
  const common = {
    minutes: positive('minutes', values.minutes),
    round: positive('round', values.round),
    seed: positive('seed', values.seed),
    workers: positive('workers', values.workers),
    rate: positive('rate', values.rate ?? (store === 'all' ? '30' : '80')),
    keep: values.keep,
  }
  const results: readonly Result[] =
    store === 'all' ? await runAll(common) : [await runStore(store as StoreName, common)]
  if (!process.send) console.log(`\n${table(results)}`)
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`)
  if (results.some(({ violations }) => violations > 0)) process.exitCode = 1
  // Not by itself: Node 20 may never finish with a connection that a proxy has reset.
  if (process.send) process.send(results, () => process.exit())
  else process.exit()
}

function positive(name: string, text: string): number {
  const value = Number(text)
  if (!(value > 0)) throw new Error(`--${name}: give a number above 0\n${USAGE}`)
  return value
}
