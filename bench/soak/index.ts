/**
 * `npm run soak -- --store postgres --minutes 60`: a gentle, steady load on one store, and whether anything grows that
 * should not: heap, handles, connections, records. Exit code 1 if something grows, or nothing can be told.
 */
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { commandLine, refuse } from '../../scripts/command-line.ts'
import { build } from '../build.ts'
import { Crew } from '../crew.ts'
import { describe } from '../machine.ts'
import { type Served, SERVED } from '../store-at.ts'
import { record, type Result, type Verdict } from './record.ts'
import { type Inside, KEEP_MINUTES, type Sample } from './sample.ts'
import { WATCHED } from './servers.ts'
import { type Course, coursesOf, isSteady } from './slope.ts'

const EVERY_MS = 10_000
/** Samples: something to look at while it runs. */
const SHOWN_EVERY = 30
/** The part that counts begins after a third, when records must have begun to go. */
const LEAST_MINUTES = 5 * KEEP_MINUTES

const USAGE = `npm run soak -- [options]
A steady load on each store, on servers of its own, and whether anything grows: see docs/soak.md.

  --store NAME   all, each in a process of its own (default), or one of
                 ${SERVED.join(', ')}
  --minutes N    for how long (default 60); below ${LEAST_MINUTES} nothing can be told
  --json FILE    keep the samples
  --record       write docs/soak.md`

const { values } = commandLine(USAGE, {
  options: {
    store: { type: 'string', default: 'all' },
    minutes: { type: 'string', default: '60' },
    json: { type: 'string' },
    record: { type: 'boolean', default: false },
  },
})
const minutes = Number(values.minutes)
if (!(minutes > 0 && minutes < Infinity))
  refuse(USAGE, `--minutes: give a number above 0, not '${values.minutes}'`)
const kinds = values.store === 'all' ? SERVED : SERVED.filter((kind) => kind === values.store)
if (kinds.length === 0) refuse(USAGE, `--store: no '${values.store}'`)
build()

const machine = describe()
const tells = minutes >= LEAST_MINUTES
const results = await Promise.all(
  kinds.map((kind) => soak(kind).catch((error: unknown) => failed(kind, error))),
)
for (const { store, verdict, samples, courses } of results) {
  const { lost = 0, done } = samples.at(-1) ?? {}
  const { locks = 0, timeouts = 0, skipped = 0, failures = {} } = done ?? {}
  console.log(`\n${store}: ${verdict}`)
  console.log(
    `  ${locks} locks, ${timeouts} gave up, ${skipped} left out, ${lost} lost, failures ${JSON.stringify(failures)}`,
  )
  for (const course of courses) console.log(`  ${line(course)}`)
}
const report = { minutes, machine, results }
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(report))
if (values.record) record(report)
if (results.some(({ verdict }) => verdict !== 'steady' && verdict !== 'too short to tell'))
  process.exitCode = 1

async function soak(kind: Served): Promise<Result> {
  const server = await WATCHED[kind]()
  const samples: Sample[] = []
  try {
    const crew = await Crew.gather(1, new URL('./worker.ts', import.meta.url), [kind, server.url])
    const start = performance.now()
    const end = start + minutes * 60_000
    for (let next = start + EVERY_MS; next <= end; next = Math.max(next + EVERY_MS, performance.now())) {
      await sleep(next - performance.now())
      const [inside] = await crew.tell<Inside>('sample')
      if (!inside) throw new Error('the process said nothing')
      const hours = (performance.now() - start) / 3_600_000
      // A server that is too busy for a look is not one that grows.
      const outside = await server.look().catch(() => null)
      if (outside) samples.push({ hours, ...inside, ...outside })
      if (samples.length % SHOWN_EVERY === 0) console.log(`${kind} ${JSON.stringify(samples.at(-1))}`)
    }
    await crew.dismiss()
  } finally {
    await server.stop()
  }
  const courses = coursesOf(samples)
  return { store: kind, verdict: verdictOn(samples, courses), courses, samples }
}

function verdictOn(samples: readonly Sample[], courses: readonly Course[]): Verdict {
  if (!tells) return 'too short to tell'
  if (!isSteady(samples)) return 'LOAD NOT STEADY'
  return courses.every(({ ok }) => ok) ? 'steady' : 'GROWS'
}

/** The others go on. */
function failed(store: Served, error: unknown): Result {
  console.error(store, error)
  return { store, verdict: 'FAILED', courses: [], samples: [] }
}

function line({ name, unit, from, to, perHour, bound, ok }: Course): string {
  const shown = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 1 })
  const change = `${perHour < 0 ? '' : '+'}${shown(perHour)} ${unit} an hour`
  return `${name.padEnd(12)} ${shown(from)} … ${shown(to)} ${unit}, ${change}, at most ${shown(bound)}${ok || !tells ? '' : '  GROWS'}`
}
