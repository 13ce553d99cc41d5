/**
 * `npm run inventory -- --store redis://… --db mysql://… --instances 4 --seconds 20`: a load on both services with a
 * report for each second, and the books at the end. Exit code 1 if they are wrong.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { compare, shown } from './comparison.ts'
import { isRight, line, summary } from './report.ts'
import { type Outcome, run } from './run.ts'
import { slope } from './soak.ts'
import type { Keeping } from './stock-room.ts'

const HELP = `usage: npm run inventory -- [options]

  --store URL        where the locks are; default: a SQLite file in a temporary folder
  --db URL           where the stock is: mysql://… or sqlite:file.db; default as above
  --instances N      processes of each of the two services (2)
  --seconds N        how long (20)
  --concurrency N    clients that send one order after the other (50); 1000 is the performance test
  --commodities N    1 is one hot commodity for all (10)
  --think N          milliseconds that an order takes besides the database (5)
  --lease N          milliseconds of a lease (3000)
  --unsafe           the same load without locks: see the oversell
  --rows             SELECT … FOR UPDATE instead of locks
  --compare          with locks, with row locks and without any, in turns; --seconds is the time of each
  --chaos            kill and pause processes meanwhile
  --soak             report how memory grows over the time
`

const { values } = parseArgs({
  options: {
    store: { type: 'string' },
    db: { type: 'string' },
    instances: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '20' },
    concurrency: { type: 'string', default: '50' },
    commodities: { type: 'string', default: '10' },
    think: { type: 'string', default: '5' },
    lease: { type: 'string', default: '3000' },
    unsafe: { type: 'boolean', default: false },
    rows: { type: 'boolean', default: false },
    compare: { type: 'boolean', default: false },
    chaos: { type: 'boolean', default: false },
    soak: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

function whole(name: 'instances' | 'seconds' | 'concurrency' | 'commodities' | 'think' | 'lease'): number {
  const number = Number(values[name])
  const [least, most] = { think: [0, 60_000], lease: [500, 600_000] }[name as string] ?? [1, 100_000]
  if (!Number.isInteger(number) || number < (least as number) || number > (most as number))
    throw new Error(`--${name}: give a whole number from ${least} to ${most}`)
  return number
}

async function main(): Promise<number> {
  if (values.help) {
    process.stdout.write(HELP)
    return 0
  }
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-inventory-'))
  const stop = new AbortController()
  const onSignal = (): void => stop.abort()
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  const options = {
    store: values.store ?? `sqlite:${join(folder, 'locks.db')}`,
    db: values.db ?? `sqlite:${join(folder, 'stock.db')}`,
    instances: whole('instances'),
    seconds: whole('seconds'),
    concurrency: whole('concurrency'),
    commodities: whole('commodities'),
    thinkMs: whole('think'),
    leaseMs: whole('lease'),
    chaos: values.chaos,
    signal: stop.signal,
  }
  try {
    if (values.compare) {
      const rounds = await compare(options)
      console.log(shown(rounds).join('\n'))
      return rounds.every(({ locks }) => locks.right) ? 0 : 1
    }
    const keeping: Keeping = values.unsafe ? 'none' : values.rows ? 'rows' : 'locks'
    const samples: Outcome[] = []
    const outcome = await run({
      ...options,
      keeping,
      onSecond: (now) => {
        console.log(line(now))
        if (values.soak) samples.push(now)
      },
    })
    console.log(`\n${summary(outcome).join('\n')}`)
    if (values.soak) console.log(slope(samples))
    return isRight(outcome) ? 0 : 1
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
    rmSync(folder, { recursive: true, force: true })
  }
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 64
}
