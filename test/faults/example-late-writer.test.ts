import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { freshDatabase } from '../servers/shared-postgres.ts'

it('the example shows a late write that is stored, and one that is refused', async () => {
  const script = resolve(import.meta.dirname, '../../examples/late-writer/index.ts')
  const env = { ...process.env, DATABASE_URL: await freshDatabase() }
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', script], { env })
  const stored = [...stdout.matchAll(/stored: (.*)/g)].map(([, text]) => text)
  expect(stored).toEqual(['by first', 'by second'])
  expect(stdout).toContain('first  is refused: STALE_TOKEN')
})
