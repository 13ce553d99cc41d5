/**
 * `npm run torture -- --store postgres --minutes 10 --seed 1`: processes take locks on real servers while these, the
 * processes and the network between them are harmed in every way, and a checker looks at what they saw. What it does
 * and how to read what it says: docs/proof.md.
 */
import { writeFileSync } from 'node:fs'
import { runAll } from './all.ts'
import { type Options, optionsOf, USAGE, WrongOption } from './options.ts'
import { runStore } from './run.ts'
import { type Result, table } from './table.ts'

// One of several, which end with the one that started them.
if (process.send) process.on('disconnect', () => process.exit(1))

const options = given()
if (options) await main(options)
else console.log(USAGE)

function given(): Options | null {
  try {
    return optionsOf(process.argv.slice(2))
  } catch (error) {
    if (!(error instanceof WrongOption)) throw error
    console.error(`${error.message}\n\n${USAGE}`)
    process.exit(2)
  }
}

async function main({ store, json, ...common }: Options): Promise<void> {
  const results: readonly Result[] = store === 'all' ? await runAll(common) : [await runStore(store, common)]
  if (!process.send) console.log(`\n${table(results)}`)
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(results, null, 2)}\n`)
  if (results.some(({ violations }) => violations > 0)) process.exitCode = 1
  // Not by itself: Node 20 may never finish with a connection that a proxy has reset.
  if (process.send) process.send(results, () => process.exit())
  else process.exit()
}
