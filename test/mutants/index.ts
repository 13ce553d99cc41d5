/**
 * `npm run mutants`: plants each known bug into a copy of the sources and runs what must catch it: the simulation, or
 * tests, mostly on real servers. A bug that nothing notices is a hole in the proof. Each file of tests that is used is
 * run without a bug as well, and has to pass.
 */
import { commandLine, count, refuse } from '../../scripts/command-line.ts'
import { CORE_MUTANTS } from './core/index.ts'
import { Copy } from './copy.ts'
import { grouped } from './grouped.ts'
import { GUARD_MUTANTS } from './guards/index.ts'
import type { Mutant } from './mutant.ts'
import { endPrograms } from './program.ts'
import { type Finding, runTests, simulate } from './proof.ts'
import { Servers } from './servers.ts'
import { STORE_MUTANTS } from './stores/index.ts'
import { lineOf, type Row, tableOf, writePage } from './table.ts'

const AT_ONCE = 2

const USAGE = `npm run mutants -- [options]
Plants bugs in copies of the sources, one at a time, and runs the tests that must fail then: see docs/mutants.md. Starts servers
of its own; all of it takes about an hour.

  --only TEXT     those whose part or description has this text (default: all)
  --schedules N   how long the simulation looks (default 4000)
  --write         put the tables of the parts that were run into docs/mutants.md`

const { values } = commandLine(USAGE, {
  options: {
    only: { type: 'string', default: '' },
    schedules: { type: 'string', default: '4000' },
    write: { type: 'boolean', default: false },
  },
})
const all = [...CORE_MUTANTS, ...STORE_MUTANTS, ...GUARD_MUTANTS]
const mutants = all.filter(({ part, bug }) => `${part}: ${bug}`.includes(values.only))
if (mutants.length === 0) refuse(USAGE, `--only: no mutant has '${values.only}' in its part or description`)
const schedules = String(count(USAGE, '--schedules', values.schedules))
const parts = new Set(mutants.map(({ part }) => part))
if (values.write && all.some((each) => parts.has(each.part) && !mutants.includes(each))) {
  refuse(USAGE, '--write is for whole parts: leave out --only, or give it a name such as "Redis: "')
}
const jobs = [...controlsFor(mutants), ...mutants]
const rows = new Map<Mutant, Row>()
const waiting = [...jobs]
const copies = new Set<Copy>()
const servers = new Servers()
let interrupted = false

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    interrupted = true
    waiting.splice(0)
    endPrograms()
    void tidyUp().finally(() => process.exit(130))
  })
}

try {
  await servers.start(jobs.flatMap(({ tests }) => tests ?? []))
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) await judge(next)
    }),
  )
} finally {
  await tidyUp()
}

// What was under way looks as if it had failed.
if (interrupted) process.exit(130)
const done = jobs.flatMap((job) => rows.get(job) ?? [])
const failures = done.filter(({ failure }) => failure !== null)
console.log(`\n${tableOf(done)}\n\n${done.length - failures.length} of ${done.length} as expected`)
for (const { bug, failure } of failures) console.log(`NOT as expected: ${bug}: ${failure}`)
if (failures.length > 0) process.exitCode = 1
else if (values.write && done.length === jobs.length)
  writePage(done, [...new Set(all.map(({ part }) => part))])

async function judge(job: Mutant): Promise<void> {
  const { bug, part, changes, tests, only } = job
  const copy = new Copy()
  copies.add(copy)
  try {
    const stale = copy.plant(changes)
    const finding: Finding =
      stale !== null
        ? { caughtBy: null, after: '', message: stale }
        : await (tests === undefined ? simulate(copy, schedules) : runTests(copy, tests, only, servers.env))
    const row = { bug, part, ...finding, failure: failureIn(finding, changes.length === 0) }
    rows.set(job, row)
    console.error(lineOf(row))
  } finally {
    copy.remove()
    copies.delete(copy)
  }
}

function failureIn({ caughtBy, after, message }: Finding, isControl: boolean): string | null {
  if (after === '' && caughtBy === null) return message
  if (isControl) return caughtBy === null ? null : `${caughtBy}: ${message}`
  return caughtBy === null ? 'survived' : null
}

/** The sources as they are, once for each file of tests, with all the tests that are to catch something. */
function controlsFor(chosen: readonly Mutant[]): Mutant[] {
  return [...grouped(chosen, ({ tests }) => tests)].map(([tests, users]) => {
    const patterns = new Set(users.map(({ only }) => only))
    const only = patterns.has(undefined) ? undefined : [...patterns].map((each) => `(${each})`).join('|')
    return { bug: `nothing: ${tests ?? 'the simulation'}`, part: 'no bug', changes: [], tests, only }
  })
}

async function tidyUp(): Promise<void> {
  await servers.stop()
  for (const copy of copies) copy.remove()
}
