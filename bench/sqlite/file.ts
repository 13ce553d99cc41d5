import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Runs `work` with the path of a file that is not there yet, in a folder of its own. */
export async function withFile<T>(work: (file: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  try {
    return await work(join(folder, 'locks.db'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
