/** Checks `lock.pml` with Spin, which is found or installed as the servers are: every order of steps is tried. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { programFolder } from '../servers/programs.ts'

/** What the model is given: its names and their values, or 1. */
export type Defines = Readonly<Record<string, number>>

export interface Verdict {
  readonly states: number
  readonly steps: number
  readonly depth: number
  readonly seconds: number
  /** What does not hold, if something does not. */
  readonly violation: string | null
}

const MODEL = fileURLToPath(new URL('./lock.pml', import.meta.url))
const MOST_MEMORY_MIB = 20_000
/** Far beyond the longest way that was seen. */
const DEEPEST = 1_000_000
const execute = promisify(execFile)

export async function check(defines: Defines): Promise<Verdict> {
  const programs = await folders()
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-model-'))
  try {
    const given = Object.entries(defines).map(([name, value]) => `-D${name}=${value}`)
    await execute(join(programs.spin, 'spin'), ['-a', ...given, MODEL], { cwd: folder })
    const flags = ['-O2', '-w', '-DSAFETY', '-DCOLLAPSE', `-DMEMLIM=${MOST_MEMORY_MIB}`]
    await execute(join(programs.gcc, 'gcc'), [...flags, '-o', 'pan', 'pan.c'], { cwd: folder })
    const start = performance.now()
    // -E: a state in which all are done is as good as any other.
    const { stdout } = await execute('./pan', [`-m${DEEPEST}`, '-w24', '-E'], { cwd: folder })
    return verdictIn(stdout, (performance.now() - start) / 1000)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function folders(): Promise<{ readonly spin: string; readonly gcc: string }> {
  const folder = (name: 'spin' | 'gcc', packages: [string, ...string[]]): Promise<string> =>
    programFolder({ name, files: [name], folders: ['/usr/bin'], packages })
  return { spin: await folder('spin', ['spin']), gcc: await folder('gcc', ['gcc', 'libc6-dev']) }
}

function verdictIn(output: string, seconds: number): Verdict {
  const number = (pattern: RegExp): number => Number(pattern.exec(output)?.[1] ?? NaN)
  const violation = /^pan:1: (.*)$/m.exec(output)?.[1] ?? null
  // It stops by itself when it has no memory left, or is deeper than it may be: that proves nothing.
  const reason = /out of memory|memory limit|max search depth too small|hashstore/.exec(output)
  const complete = !/Search not completed/.test(output) && !reason
  if (violation === null && !complete) throw new Error(`the search was not completed:\n${output}`)
  return {
    states: number(/([\d.e+]+) states, stored/),
    steps: number(/([\d.e+]+) transitions/),
    depth: number(/depth reached (\d+)/),
    seconds,
    violation,
  }
}
