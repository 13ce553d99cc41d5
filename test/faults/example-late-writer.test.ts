import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { freshMongoDatabase } from '../servers/shared-mongo.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { freshPrefix } from '../servers/shared-redis.ts'

it.each([
  ['index.ts', async () => ({ DATABASE_URL: await freshDatabase() })],
  ['redis.ts', async () => ({ REDIS_URL: freshPrefix().url })],
  ['mongo.ts', async () => ({ MONGODB_URL: (await freshMongoDatabase()).url })],
])('the example %s shows a late write that is stored, and one that is refused', async (file, settings) => {
  const script = resolve(import.meta.dirname, '../../examples/late-writer', file)
  const env = { ...process.env, ...(await settings()) }
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', script], { env })
  const stored = [...stdout.matchAll(/stored: (.*)/g)].map(([, text]) => text)
  expect(stored).toEqual(['by first', 'by second'])
  expect(stdout).toContain('first  is refused: STALE_TOKEN')
})
