/**
 * `npm run inventory -- --store redis://… --db mysql://… --instances 4 --seconds 20`: a load on both services with a
 * report for each second, and the books at the end. Exit code 1 if they are wrong.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { isRight, line, orders, summary } from './report.ts'
import { type Outcome, run, type RunOptions } from './run.ts'
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
  --compare          with locks, with row locks and without any, one after the other
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
    if (values.compare) return await compare(options)
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

async function compare(options: Omit<RunOptions, 'keeping'>): Promise<number> {
  const names = { locks: 'with locks', rows: 'with SELECT … FOR UPDATE', none: 'with nothing' }
  const rates = new Map<Keeping, number>()
  let right = true
  for (const keeping of ['none', 'rows', 'locks'] as const) {
    const outcome = await run({ ...options, keeping })
    rates.set(keeping, orders(outcome) / outcome.seconds)
    if (keeping === 'locks') right = isRight(outcome)
    console.log(`\n${names[keeping]}\n${summary(outcome).join('\n')}`)
  }
  const [locks = 0, rows = 0, none = 0] = [rates.get('locks'), rates.get('rows'), rates.get('none')]
  console.log(
    `\nlocks: ${((100 * locks) / rows).toFixed(0)} % of the orders of row locks, ` +
      `${((100 * locks) / none).toFixed(0)} % of those without any; ` +
      `an order costs ${((1000 * options.concurrency) / locks - (1000 * options.concurrency) / none).toFixed(2)} ms more ` +
      `with ${options.concurrency} at a time`,
  )
  return right ? 0 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 64
}
