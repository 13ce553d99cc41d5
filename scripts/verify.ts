/**
 * `npm test`: every check of the repository, one after the other. A failure does not stop the rest, so that
 * one run shows all that is wrong. `npm test -- lint unit` runs only what is named.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'

interface Count {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** What failed and why, in short: the end of a log is often all that is kept of it. */
  readonly failures: readonly string[]
}

interface Report {
  readonly numPassedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly message: string
    readonly assertionResults: readonly {
      readonly status: string
      readonly fullName: string
      readonly failureMessages: readonly string[] | null
    }[]
  }[]
}

/** Scripts that run a vitest project: shown as they run, counted test by test. */
const PROJECTS = ['unit', 'faults', 'conformance', 'simulation', 'package', 'browser']
/** The other scripts say yes or no: their output is shown only when they say no. */
const ALL = ['format:check', 'lint', 'types', 'build', ...PROJECTS, 'unused', 'publishable']

const root = resolve(import.meta.dirname, '..')

async function verify(steps: readonly string[]): Promise<boolean> {
  const table: string[] = []
  const failures: string[] = []
  const total = { passed: 0, failed: 0 }
  for (const step of steps) {
    console.log(`\n── ${step}`)
    const start = performance.now()
    const count = PROJECTS.includes(step) ? await test(step) : await check(step)
    const { passed, failed, skipped } = count
    failures.push(...count.failures.map((failure) => `FAILED ${step}: ${failure}`))
    const seconds = ((performance.now() - start) / 1000).toFixed(1)
    total.passed += passed
    total.failed += failed
    const notes = [`${passed} passed`, failed > 0 && `${failed} FAILED`, skipped > 0 && `${skipped} skipped`]
    table.push(`${step.padEnd(12)} ${seconds.padStart(6)} s  ${notes.filter(Boolean).join(', ')}`)
  }
  console.log(`\n${[...failures, ...table].join('\n')}\n\n${total.passed} passed, ${total.failed} failed`)
  return total.failed === 0
}

async function check(script: string): Promise<Count> {
  const { code, output } = await runScript(script, [], false)
  if (code !== 0) console.log(output)
  return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0, failures: [] }
}

async function test(script: string): Promise<Count> {
  const scratch = mkdtempSync(join(tmpdir(), 'holdfast-verify-'))
  try {
    const report = join(scratch, 'report.json')
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
    const { code } = await runScript(script, ['--allowOnly=false', ...reporters], true)
    const count = readReport(report)
    // An error outside any test, or no test at all, fails the run without failing a test.
    if (code === 0 || count.failed > 0) return count
    return { ...count, failed: 1, failures: [...count.failures, 'an error outside the tests, see above'] }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

function readReport(file: string): Count {
  try {
    const report = JSON.parse(readFileSync(file, 'utf8')) as Report
    const { numPassedTests: passed, numPendingTests, numTodoTests } = report
    const failures = report.testResults.flatMap(failuresOf)
    return { passed, failed: failures.length, skipped: numPendingTests + numTodoTests, failures }
  } catch {
    return { passed: 0, failed: 1, skipped: 0, failures: ['there is no report of this run'] }
  }
}

function failuresOf({ name, message, assertionResults }: Report['testResults'][number]): string[] {
  const file = relative(root, name)
  const tests = assertionResults.filter(({ status }) => status === 'failed')
  const reasons = tests.map(
    ({ fullName, failureMessages }) => `${file}: ${fullName}\n${(failureMessages ?? []).join('\n')}`,
  )
  return message === '' ? reasons : [`${file}: ${message}`, ...reasons]
}

interface Outcome {
  readonly code: number | null
  readonly output: string
}

function runScript(script: string, args: readonly string[], live: boolean): Promise<Outcome> {
  return new Promise((settle, fail) => {
    const child = spawn('npm', ['run', '--silent', script, '--', ...args], {
      cwd: root,
      stdio: live ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
    })
    const output: Buffer[] = []
    child.stdout?.on('data', (chunk: Buffer) => output.push(chunk))
    child.stderr?.on('data', (chunk: Buffer) => output.push(chunk))
    child.on('error', fail)
    child.on('close', (code) => settle({ code, output: Buffer.concat(output).toString() }))
  })
}

const named = process.argv.slice(2)
const unknown = named.filter((step) => !ALL.includes(step))
if (unknown.length > 0) throw new Error(`no step ${unknown.join(', ')}; there are ${ALL.join(', ')}`)
process.exitCode = (await verify(named.length > 0 ? named : ALL)) ? 0 : 1
