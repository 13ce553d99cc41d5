import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { freshMongoDatabase } from '../servers/shared-mongo.ts'
import { mongoCommand } from '../servers/mongo-command.ts'

/** Below that of the test, so that what was said by then is shown. */
const LIMIT_MS = 50_000

it('of ten processes that start on an empty database one sets it up, and one killed half-way is followed', async () => {
  const { url } = await freshMongoDatabase()
  const script = resolve(import.meta.dirname, '../../examples/mongo-init/index.ts')
  const env = { ...process.env, MONGODB_URL: url }
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', script], {
    env,
    timeout: LIMIT_MS,
  })

  const said = stdout.split('\n').map((line) => line.trim().replace(/^instance (\d+)/, ''))
  expect(said.filter(Boolean)).toEqual([
    '10 instances start at once on an empty database',
    ' sets the database up',
    ' is killed half-way',
    ' sets the database up',
    ' has finished',
    '1 was killed, 1 ran, 8 found it done',
    'indexes: _id_, email, newest',
    'roles: admin, auditor, clerk, guest',
    // Each by one of them only: `created` is said by whoever's write it was.
    'created: admin, auditor, clerk, guest',
  ])
  const { databases } = await mongoCommand(url, 'admin', { listDatabases: 1, nameOnly: true })
  expect(databases.filter(({ name }: { name: string }) => name.startsWith('mongo_init_'))).toEqual([])
})
