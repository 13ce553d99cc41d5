import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Verdict } from '../simulation/verdict.ts'
import { type Copy, ROOT } from './copy.ts'
import { runNode } from './program.ts'

/** What was found out about a copy of the sources. */
export interface Finding {
  /** The guarantee or the test that failed first; null if none did. */
  readonly caughtBy: string | null
  /** How much had been tried by then. */
  readonly after: string
  readonly message: string | null
}

/** A bug may make core spin without an end. */
const SIMULATION_LIMIT_MS = 900_000
/** Tests have limits of their own; this is for what stands still between them. */
const TESTS_LIMIT_MS = 180_000

export async function simulate({ folder }: Copy, schedules: string): Promise<Finding> {
  const args = ['--import', import.meta.resolve('tsx'), 'test/simulation/verdict.ts', schedules]
  const { output, errors, hung } = await runNode(folder, args, SIMULATION_LIMIT_MS)
  const line = output.trim().split('\n').at(-1) ?? ''
  if (line.startsWith('{')) {
    const { guarantee, schedules, message } = JSON.parse(line) as Verdict
    return {
      caughtBy: guarantee && `simulation: ${guarantee}`,
      after: counted(schedules, 'schedule'),
      message,
    }
  }
  if (hung) return { caughtBy: 'simulation: it does not end', after: '', message: null }
  return doesNotRun(errors)
}

interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly message: string
    readonly assertionResults: readonly {
      readonly status: string
      readonly title: string
      readonly failureMessages: readonly string[] | null
    }[]
  }[]
}

/** Up to the first test that fails. */
export async function runTests(
  { folder }: Copy,
  file: string,
  only: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<Finding> {
  const [, project = ''] = file.split('/')
  const report = join(folder, 'report.json')
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const names = only === undefined ? [] : ['--testNamePattern', only]
  const out = ['--bail', '1', '--reporter', 'json', '--outputFile', report]
  const args = [vitest, 'run', '--project', project, ...out, ...names, file]
  const { output, errors, hung } = await runNode(folder, args, TESTS_LIMIT_MS, env)
  if (hung) return doesNotRun(`it did not end within ${TESTS_LIMIT_MS} ms`)
  const files = reportIn(report)?.testResults ?? []
  const run = files.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'passed' || status === 'failed')
      .map((test) => ({ ...test, file: relative(folder, name) })),
  )
  if (run.length === 0) return doesNotRun(files.map(({ message }) => message).join('\n') + errors + output)
  const failed = run.find(({ status }) => status === 'failed')
  const message = failed?.failureMessages?.join('\n') ?? null
  if (message !== null && BROKEN.test(message)) return doesNotRun(message)
  const caughtBy = failed ? `${failed.file}: ${failed.title}` : null
  return { caughtBy, after: counted(run.length, 'test'), message }
}

/** A program or a statement with a slip in it fails every test: that proves nothing. */
const BROKEN =
  /\b(Syntax|Reference|Type)Error\b|syntax error|error in your SQL|does not exist|Error compiling script|user_script/

function reportIn(path: string): Report | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Report
  } catch {
    return null
  }
}

function doesNotRun(why: string): Finding {
  return { caughtBy: null, after: '', message: `it does not run: ${why.slice(0, 500)}` }
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
