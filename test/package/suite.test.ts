import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { run } from './command.ts'
import { NODE_VERSIONS } from './node-versions.ts'

/**
 * The suite as shipped: in memory, and on drivers that the Node which runs the other tests may not have,
 * `node:sqlite` from a path and better-sqlite3 as the user's own database.
 */
const { full, nodes } = inject('packed')

describe.concurrent.each(NODE_VERSIONS)('on Node %s the packed suite passes under node:test', (version) => {
  it.each(['memory', 'path', 'better-sqlite3'])('with a store opened by %s', async (driver) => {
    const file = join(mkdtempSync(join(full, 'suite-')), 'locks.db')
    const flags = ['--disable-warning=ExperimentalWarning', '--test', '--test-reporter=tap']
    const env = { DRIVER: driver, FILE: file }
    const report = await run(nodes[version], [...flags, 'suite.js'], full, { limitMs: 280_000, env })
    expect(report).toMatch(/^# fail 0$/m)
    expect(Number(/^# pass (\d+)$/m.exec(report)?.[1])).toBeGreaterThan(100)
  })
})
