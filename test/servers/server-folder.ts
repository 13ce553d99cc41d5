import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Account } from './account.ts'

// Reads the processes to end, one list a line, until whoever writes them closes the pipe or dies of whatever
// cause; then ends those of the last line and removes the folder. The first of a list is asked to end and gets
// 5 s for it; the rest are its children.
const GUARD = `
  signal=$1 folder=$2 pids=
  while read -r line; do pids=$line; done
  if [ -n "$pids" ]; then
    first=\${pids%% *} tries=0
    kill -s "$signal" $first
    kill -s CONT $pids
    while [ $tries -lt 50 ] && kill -0 $first; do sleep 0.1; tries=$((tries + 1)); done
    kill -s KILL $pids
  fi 2>/dev/null
  rm -rf -- "$folder"
`

/**
 * A temporary folder that goes, along with the server in it, when this process ends, even by SIGKILL: a small
 * process watches over both.
 */
export class ServerFolder {
  readonly path: string
  readonly #guard: ChildProcess

  constructor(name: string, endSignal: NodeJS.Signals, account: Account | undefined) {
    this.path = mkdtempSync(join(tmpdir(), `holdfast-${name}-`))
    // In a session of its own: Ctrl-C is for the tests, which then stop their servers in order.
    this.#guard = spawn('sh', ['-c', GUARD, 'guard', endSignal.replace('SIG', ''), this.path], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    this.#guard.unref()
    this.#guard.stdin?.on('error', () => {})
    if (account) chownSync(this.path, account.uid, account.gid)
  }

  /** The processes that must not outlive this one: a server and, while they cannot follow it, its children. */
  watchOver(pids: readonly number[]): void {
    this.#guard.stdin?.write(`${pids.join(' ')}\n`)
  }

  /** Ends what still runs in it, too. */
  async remove(): Promise<void> {
    if (this.#guard.exitCode === null && this.#guard.signalCode === null) {
      const ended = once(this.#guard, 'exit')
      this.#guard.ref()
      this.#guard.stdin?.end()
      await ended
    }
    // Only if the guard could not.
    rmSync(this.path, { recursive: true, force: true })
  }
}
