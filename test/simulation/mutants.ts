/**
 * `npm run mutants`: plants each known bug into a copy of the sources and runs the simulation on it, or
 * the unit tests that it names. A bug that no invariant notices is a hole in the proof. `npm run mutants -- --only text` runs those
 * whose description contains the text; `--schedules N` sets how long to look.
 */
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { LEASE_MUTANTS } from './mutants/leases.ts'
import { MOVING_CONTROL, MOVING_MUTANTS } from './mutants/moving.ts'
import type { Mutant } from './mutants/mutant.ts'
import { ONCE_CONTROL, ONCE_MUTANTS } from './mutants/once.ts'
import { QUEUE_MUTANTS } from './mutants/queues.ts'
import { STORE_CALL_MUTANTS } from './mutants/store-calls.ts'
import type { Verdict } from './verdict.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const AT_ONCE = 2
/** A bug may make core spin without an end. */
const LONGEST_RUN_MS = 300_000

const CONTROL: Mutant = { bug: 'nothing: the sources as they are', changes: [] }
const CONTROLS: readonly Mutant[] = [CONTROL, ONCE_CONTROL, MOVING_CONTROL]

const { values } = parseArgs({
  options: { only: { type: 'string', default: '' }, schedules: { type: 'string', default: '4000' } },
})
const mutants = [
  ...CONTROLS,
  ...LEASE_MUTANTS,
  ...QUEUE_MUTANTS,
  ...STORE_CALL_MUTANTS,
  ...ONCE_MUTANTS,
  ...MOVING_MUTANTS,
].filter(({ bug }) => bug.includes(values.only))
const rows = new Map<Mutant, string>()
const failures: string[] = []

const waiting = [...mutants]
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await judge(next)
  }),
)

console.log(`\n${'bug'.padEnd(78)} caught by    after`)
for (const mutant of mutants) console.log(rows.get(mutant))
console.log(`\n${mutants.length - failures.length} of ${mutants.length} as expected`)
for (const failure of failures) console.log(`NOT as expected: ${failure}`)
if (failures.length > 0) process.exitCode = 1

async function judge(mutant: Mutant): Promise<void> {
  const { bug } = mutant
  const copy = mkdtempSync(join(tmpdir(), 'holdfast-mutant-'))
  try {
    const stale = plant(mutant, copy)
    const verdict = stale ? null : await (mutant.tests ? runTests(copy, mutant.tests) : run(copy))
    const isCaught = verdict !== null && verdict.guarantee !== null
    const found = isCaught ? `${verdict.guarantee?.padEnd(12)} ${verdict.schedules}` : (stale ?? 'nothing')
    rows.set(mutant, `${bug.padEnd(78)} ${found}`)
    console.error(rows.get(mutant))
    if (isCaught === CONTROLS.includes(mutant) || stale)
      failures.push(`${bug}: ${stale ?? verdict?.message ?? 'survived'}`)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/** Copies the sources and changes them; says what is wrong if the change no longer fits. */
function plant({ changes, tests }: Mutant, copy: string): string | null {
  const proof =
    tests === undefined
      ? ['test/simulation']
      : ['test/unit', 'test/support', 'vitest.config.ts', 'tsconfig.json']
  for (const part of ['src', 'package.json', ...proof]) {
    cpSync(join(ROOT, part), join(copy, part), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  for (const { file, find, replace } of changes) {
    const path = join(copy, file)
    const [before, after, ...rest] = readFileSync(path, 'utf8').split(find)
    if (before === undefined || after === undefined || rest.length > 0) {
      return `STALE: ${file} has ${after === undefined ? 'no' : 'more than one'} ${JSON.stringify(find)}`
    }
    writeFileSync(path, before + replace + after)
  }
  return null
}

async function run(copy: string): Promise<Verdict> {
  const args = ['--import', import.meta.resolve('tsx'), 'test/simulation/verdict.ts', values.schedules]
  const { output, errors, killed } = await node(copy, args)
  const line = output.trim().split('\n').at(-1) ?? ''
  if (line.startsWith('{')) return JSON.parse(line) as Verdict
  if (killed) return HANGS
  return { guarantee: null, schedules: 0, message: `it does not run: ${errors.slice(0, 500)}` }
}

const HANGS: Verdict = { guarantee: 'hang', schedules: 0, message: 'it did not end' }

/** Counts tests where the simulation counts schedules. */
async function runTests(copy: string, tests: string): Promise<Verdict> {
  const bin = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const args = [bin, 'run', '--project', 'unit', '--reporter', 'json', tests]
  const { output, errors, killed } = await node(copy, args)
  const json = output.slice(output.indexOf('{'))
  if (killed) return HANGS
  const message = `it does not run: ${errors.slice(0, 500)}`
  if (!json.startsWith('{')) return { guarantee: null, schedules: 0, message }
  const { numFailedTests, numTotalTests } = JSON.parse(json) as Record<string, number>
  if (!numTotalTests) return { guarantee: null, schedules: 0, message }
  return { guarantee: numFailedTests ? 'unit tests' : null, schedules: numTotalTests, message: null }
}

function node(cwd: string, args: string[]): Promise<{ output: string; errors: string; killed: boolean }> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, args, {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LONGEST_RUN_MS,
      killSignal: 'SIGKILL',
    })
    let output = ''
    let errors = ''
    child.stdout.on('data', (data: Buffer) => (output += data.toString()))
    child.stderr.on('data', (data: Buffer) => (errors += data.toString()))
    child.on('error', fail)
    child.on('close', (_, signal) => done({ output, errors, killed: signal === 'SIGKILL' }))
  })
}
