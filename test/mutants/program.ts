import { type ChildProcess, spawn } from 'node:child_process'

const running = new Set<ChildProcess>()

export interface Outcome {
  readonly output: string
  readonly errors: string
  /** It did not end by itself. */
  readonly hung: boolean
}

/** Runs Node, in a group of its own, so that what it started ends with it when its time is over. */
export function runNode(
  cwd: string,
  args: readonly string[],
  limitMs: number,
  env: NodeJS.ProcessEnv = {},
): Promise<Outcome> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, args, {
      cwd,
      env: { ...process.env, ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running.add(child)
    let hung = false
    const limit = setTimeout(() => {
      hung = true
      end(child)
    }, limitMs)
    let output = ''
    let errors = ''
    child.stdout.on('data', (data: Buffer) => (output += data.toString()))
    child.stderr.on('data', (data: Buffer) => (errors += data.toString()))
    child.on('error', fail)
    child.on('close', () => {
      clearTimeout(limit)
      running.delete(child)
      done({ output, errors, hung })
    })
  })
}

export function endPrograms(): void {
  for (const child of running) end(child)
}

function end({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It ended meanwhile.
  }
}
