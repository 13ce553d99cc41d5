import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { programFolder } from './programs.ts'

/** A clock that a server has for itself: it goes ahead, or behind, and can be stepped while the server runs. */
export class MongoClock {
  readonly #library: string
  readonly #file: string

  private constructor(library: string, file: string) {
    this.#library = library
    this.#file = file
  }

  static async open(folder: string, aheadMs: number): Promise<MongoClock> {
    const programs = await programFolder({
      name: 'libfaketime',
      files: ['faketime'],
      folders: ['/usr/bin', '/usr/local/bin'],
      packages: ['faketime'],
    })
    const args = ['-m', '-f', '+0', 'printenv', 'LD_PRELOAD']
    const { stdout } = await promisify(execFile)(join(programs, 'faketime'), args, { timeout: 10_000 })
    const clock = new MongoClock(stdout.trim(), join(folder, 'clock'))
    clock.step(aheadMs)
    return clock
  }

  /** How to start that program with this clock. */
  command(program: string): [file: string, ...args: string[]] {
    return [
      '/usr/bin/env',
      `LD_PRELOAD=${this.#library}`,
      `FAKETIME_TIMESTAMP_FILE=${this.#file}`,
      'FAKETIME_CACHE_DURATION=1',
      // Only the time of day is another. Without the second one, waits end at once and the server is busy with them.
      'FAKETIME_DONT_FAKE_MONOTONIC=1',
      'FAKETIME_FORCE_MONOTONIC_FIX=0',
      program,
    ]
  }

  /** The server looks about once a second. */
  step(aheadMs: number): void {
    writeFileSync(this.#file, `${aheadMs < 0 ? '' : '+'}${aheadMs / 1_000}s`)
  }
}
