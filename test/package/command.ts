import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)

interface RunOptions {
  readonly limitMs?: number
  readonly env?: Readonly<Record<string, string>>
}

/** Runs a program to its end and resolves to what it printed; a failure shows all of its output. */
export async function run(
  file: string,
  args: readonly string[],
  cwd: string,
  { limitMs = 60_000, env = {} }: RunOptions = {},
): Promise<string> {
  try {
    const options = { cwd, timeout: limitMs, maxBuffer: 64 * 1024 * 1024, env: { ...process.env, ...env } }
    const { stdout } = await execute(file, args, options)
    return stdout
  } catch (error) {
    const { code, signal, stdout, stderr } = error as Record<'code' | 'signal' | 'stdout' | 'stderr', unknown>
    const ending = signal === 'SIGTERM' ? `still ran after ${limitMs} ms` : `ended with ${String(code)}`
    throw new Error(`${file} ${args.join(' ')} ${ending}\n${String(stdout)}\n${String(stderr)}`, {
      cause: error,
    })
  }
}

/** Installs into a folder that has a package.json. Nothing here needs an install script. */
export async function install(folder: string): Promise<void> {
  const flags = ['--ignore-scripts', '--no-package-lock', '--no-audit', '--no-fund', '--prefer-offline']
  await run('npm', ['install', ...flags], folder, { limitMs: 300_000 })
}
