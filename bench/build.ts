import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Makes `dist`, which is what is measured. Called once the options were found right: a wrong one is told at once. */
export function build(): void {
  const cwd = fileURLToPath(new URL('..', import.meta.url))
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], { cwd, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
