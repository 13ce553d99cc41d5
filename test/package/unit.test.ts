import { resolve } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { run } from './command.ts'
import { NODE_VERSIONS } from './node-versions.ts'

const root = resolve(import.meta.dirname, '..', '..')
const { nodes } = inject('packed')

describe.each(NODE_VERSIONS)('on Node %s', (version) => {
  it('the unit tests pass', async () => {
    // It runs beside other tests: what is slow here is the machine.
    const flags = ['--project', 'unit', '--reporter', 'json', '--testTimeout', '60000']
    const program = ['--disable-warning=ExperimentalWarning', 'node_modules/vitest/vitest.mjs', 'run']
    const printed = await run(nodes[version], [...program, ...flags], root, { limitMs: 280_000 })
    const { numFailedTests, numPassedTests } = JSON.parse(printed.slice(printed.indexOf('{')))
    expect(numFailedTests).toBe(0)
    expect(numPassedTests).toBeGreaterThan(1500)
  })
})
