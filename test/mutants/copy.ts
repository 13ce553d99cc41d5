import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Change } from './mutant.ts'

export const ROOT: string = resolve(import.meta.dirname, '../..')

/** All that the tests that catch mutants need. */
const PARTS = [
  'src',
  ...['conformance', 'faults', 'servers', 'simulation', 'support', 'unit'].map((folder) => `test/${folder}`),
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
]

/** A copy of the repository in a temporary folder, for one bug. */
export class Copy {
  readonly folder: string

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'holdfast-mutant-'))
    for (const part of PARTS) cpSync(join(ROOT, part), join(this.folder, part), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(this.folder, 'node_modules'))
  }

  /** Says what is wrong if a change no longer fits. */
  plant(changes: readonly Change[]): string | null {
    for (const { file, find, replace } of changes) {
      const path = join(this.folder, file)
      const [before, after, ...rest] = readFileSync(path, 'utf8').split(find)
      if (before === undefined || after === undefined || rest.length > 0) {
        return `STALE: ${file} has ${after === undefined ? 'no' : 'more than one'} ${JSON.stringify(find)}`
      }
      writeFileSync(path, before + replace + after)
    }
    return null
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}
