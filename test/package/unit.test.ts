import { resolve } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { run } from './command.ts'
import { NODE_VERSIONS } from './node-versions.ts'

/**
 * Time, promises, abort signals, async contexts, SQLite: what a release of Node can change under core. The
 * rest of the unit tests checks text and options, which it cannot.
 */
const FILES = [
  'batcher',
  'close',
  'early-word',
  'election',
  'fence-sqlite',
  'once',
  'push',
  'reentry',
  'release',
  'replies',
  'several',
  'tokens',
  'transaction-sqlite',
  'waiting',
]

const root = resolve(import.meta.dirname, '..', '..')
const { nodes } = inject('packed')

describe.each(NODE_VERSIONS)('on Node %s', (version) => {
  it('the unit tests of core pass', async () => {
    const files = FILES.map((name) => `test/unit/${name}.test.ts`)
    // It runs beside other tests: what is slow here is the machine.
    const flags = ['--project', 'unit', '--reporter', 'json', '--testTimeout', '60000']
    const program = ['--disable-warning=ExperimentalWarning', 'node_modules/vitest/vitest.mjs', 'run']
    const printed = await run(nodes[version], [...program, ...flags, ...files], root, { limitMs: 280_000 })
    const { numTotalTests, numPassedTests, testResults } = JSON.parse(printed.slice(printed.indexOf('{')))
    expect(testResults).toHaveLength(files.length)
    expect(numPassedTests).toBe(numTotalTests)
    expect(numTotalTests).toBeGreaterThan(150)
  })
})
