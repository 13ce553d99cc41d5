import { type ChildProcess, spawn } from 'node:child_process'

/**
 * Reads whom to end, then waits for a second line. If its input ends without one, nobody is there any more to
 * write it. `sleep` and `kill -0` each second: POSIX has no shorter ones.
 */
const SCRIPT = `
read -r target || exit 0
read -r over && exit 0
kill -s TERM -- "$target" || exit 0
left=$1
while [ "$left" -gt 0 ] && kill -s 0 -- "$target"; do sleep 1; left=$((left - 1)); done
kill -s KILL -- "$target"
`

/**
 * A shell that ends the command if this process dies without a word, as by SIGKILL: 1 to 2 MB and some milliseconds.
 * In a session of its own, so that what kills this process does not kill it too. Where there is no shell, there is
 * no watchdog, and such a command goes on.
 */
export class Watchdog {
  readonly #shell: ChildProcess
  #watches = false

  constructor(graceMs: number) {
    const seconds = String(Math.ceil(graceMs / 1000))
    this.#shell = spawn('/bin/sh', ['-c', SCRIPT, 'holdfast-watchdog', seconds], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      cwd: '/',
    })
    this.#shell.on('error', () => {})
    this.#shell.stdin?.on('error', () => {})
    this.#shell.unref()
  }

  /** `target`: as `kill` takes it. */
  watch(target: number): void {
    this.#watches = true
    this.#shell.stdin?.write(`${target}\n`)
  }

  dismiss(): void {
    this.#shell.stdin?.end(this.#watches ? 'over\n' : '')
  }
}
