/** One of many processes on a store: takes and gives back keys for as long as it is told. */
import { randomBytes } from 'node:crypto'
import { holdfast } from '../built.ts'
import { serve } from '../crew.ts'
import { type Served, storeAt } from '../store-at.ts'

const TASKS = 10
/** Counted, not timed: of many processes each gets little of the machine, and would be measured before its code is compiled. */
const FIRST_LOCKS = 6_000
/** On a slow store, what this code costs hardly counts. */
const FIRST_MS = 8_000
const WARM_UP_MS = 300
const MEASURED_MS = 1_200

const [kind, url] = process.argv.slice(2) as [Served, string]
const locks = holdfast.createLocks(await storeAt(kind, url), { wait: '2m', callTimeout: '30s' })
const name = randomBytes(4).toString('hex')
let next = 0
process.once('disconnect', () => process.exit())

function ownKey(): string {
  return `${name}:${next++}`
}

/** How many a second, for as long as it goes on. */
async function run(tasks: number, key: () => string, goesOn: (ms: number) => boolean): Promise<number> {
  let count = 0
  const start = performance.now()
  const task = async (): Promise<void> => {
    while (goesOn(performance.now() - start)) {
      await (await locks.acquire(key())).release()
      count += 1
    }
  }
  await Promise.all(Array.from({ length: tasks }, task))
  return (count / (performance.now() - start)) * 1000
}

async function measure(tasks: number, key: () => string): Promise<number> {
  await run(tasks, key, (ms) => ms < WARM_UP_MS)
  return run(tasks, key, (ms) => ms < MEASURED_MS)
}

await locks.inspect('one key')
serve(
  {
    'warm up': () => run(TASKS, ownKey, (ms) => next < FIRST_LOCKS && ms < FIRST_MS),
    processes: () => measure(TASKS, ownKey),
    turns: () => measure(1, () => 'one key'),
  },
  () => locks.close(),
)
