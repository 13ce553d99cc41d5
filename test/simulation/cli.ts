import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { describeFact } from './facts.ts'
import { generateSchedule } from './generate.ts'
import { describeFailure, describeViolation } from './report.ts'
import { runSchedule } from './run.ts'
import type { Schedule } from './schedule.ts'
import { Tally } from './tally.ts'

const USAGE = `npm run simulate -- [options]
  --schedules N     how many schedules to run (default 2000)
  --from N          seed of the first one (default 1)
  --seed N          run this one and show what happened in it
  --schedule FILE   run the schedule in this file, as a failure prints it
  --tally           show what happened how often`

const PROGRESS_MS = 2000

const { values } = parseArgs({
  options: {
    schedules: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    schedule: { type: 'string' },
    tally: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) {
  console.log(USAGE)
} else if (values.schedule !== undefined) {
  await show(JSON.parse(readFileSync(values.schedule, 'utf8')) as Schedule)
} else if (values.seed !== undefined) {
  await show(generateSchedule(wholeNumber('seed', values.seed)))
} else {
  await runMany(wholeNumber('from', values.from), wholeNumber('schedules', values.schedules))
}

async function show(schedule: Schedule): Promise<void> {
  const result = await runSchedule(schedule)
  for (const fact of result.trace) console.log(describeFact(fact))
  console.log(describeViolation(result))
  if (!result.violation) return
  console.error(await describeFailure(result))
  process.exitCode = 1
}

async function runMany(from: number, count: number): Promise<void> {
  const tally = new Tally()
  const startedAt = performance.now()
  let shownAt = startedAt
  let steps = 0
  for (let seed = from; seed < from + count; seed++) {
    const result = await runSchedule(generateSchedule(seed))
    steps += result.steps
    tally.merge(result.tally)
    if (result.violation) {
      console.error(await describeFailure(result))
      process.exitCode = 1
      return
    }
    const now = performance.now()
    if (now - shownAt > PROGRESS_MS || seed === from + count - 1) {
      shownAt = now
      const done = seed - from + 1
      const rate = Math.round((done / (now - startedAt)) * 1000)
      console.error(
        `${done} of ${count} schedules, ${steps} steps, ${rate} schedules/s, seeds ${from}–${seed}`,
      )
    }
  }
  if (values.tally) console.log(tally.toString())
  console.log(`${count} schedules held G1–G12, seeds ${from}–${from + count - 1}`)
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= 0) return value
  console.error(`--${name}: ${text} is not a whole number\n${USAGE}`)
  process.exit(2)
}
