import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Copy } from '../../mutants/copy.ts'
import type { Change } from '../../mutants/mutant.ts'
import type { Case } from './case.ts'
import type { Findings } from './main.ts'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

export interface ExploreOptions {
  /** A bug to plant first. */
  readonly changes?: readonly Change[] | undefined
  readonly maxSeconds?: number | undefined
  readonly onProgress?: ((soFar: Findings) => void) | undefined
}

/**
 * Explores a copy of the sources whose private fields can be read: what a program knows decides what it will
 * do, so it takes that to tell whether two moments are the same.
 */
export async function exploreSources(explored: Case, options: ExploreOptions = {}): Promise<Findings> {
  const { changes = [], maxSeconds = Infinity, onProgress } = options
  const copy = new Copy()
  try {
    const stale = copy.plant(changes)
    if (stale) throw new Error(stale)
    expose(join(copy.folder, 'src'))
    return await inCopy(copy.folder, [JSON.stringify(explored), String(maxSeconds)], onProgress)
  } finally {
    copy.remove()
  }
}

function expose(folder: string): void {
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts')) continue
    const path = join(folder, file)
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/(?<=[\s.!(])#(?=[a-z])/g, 'private_'))
  }
}

/** Each line that the program prints is what it has found so far; the last one is all. */
function inCopy(cwd: string, args: string[], onProgress: ExploreOptions['onProgress']): Promise<Findings> {
  return new Promise((done, fail) => {
    const program = ['--import', import.meta.resolve('tsx'), 'test/simulation/explore/main.ts', ...args]
    const child = spawn(process.execPath, program, { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
    const stop = (): void => void child.kill('SIGKILL')
    for (const signal of SIGNALS) process.once(signal, stop)
    let findings: Findings | null = null
    createInterface({ input: child.stdout }).on('line', (line) => {
      findings = JSON.parse(line) as Findings
      onProgress?.(findings)
    })
    child.on('error', fail)
    child.on('close', (code, signal) => {
      for (const each of SIGNALS) process.off(each, stop)
      if (code === 0 && findings) done(findings)
      else fail(new Error(`the exploration ended with ${signal ?? code}`))
    })
  })
}
