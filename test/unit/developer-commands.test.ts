import { spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..', '..')
/** A process that has its sources to compile. */
const LIMIT_MS = 30_000

function run(name: string, ...args: string[]): SpawnSyncReturns<string> {
  return spawnSync('npm', ['run', '--silent', name, '--', ...args], { cwd: ROOT, encoding: 'utf8' })
}

describe.each(['bench', 'trials', 'soak', 'mutants', 'model'])('npm run %s', (name) => {
  it(
    'says how it is used, and does nothing else',
    () => {
      const { status, stdout } = run(name, '--help')
      expect(status).toBe(0)
      expect(stdout).toMatch(new RegExp(`^npm run ${name} -- `))
    },
    LIMIT_MS,
  )

  it(
    'tells in a line what it does not know, before it begins',
    () => {
      const { status, stdout, stderr } = run(name, '--no-such')
      expect(status).toBe(2)
      expect(stdout).toBe('')
      expect(stderr).toContain(`Unknown option '--no-such'\n\nnpm run ${name} -- `)
      expect(stderr).not.toContain('    at ')
    },
    LIMIT_MS,
  )
})

it(
  'npm run bench refuses rounds that are no number, and a group that is not there',
  () => {
    for (const [args, said] of [
      [['--rounds', 'x'], "--rounds: give a whole number above 0, not 'x'"],
      [['all', 'radis'], 'no group radis'],
    ] as const) {
      const { status, stderr } = run('bench', ...args)
      expect([status, stderr]).toEqual([2, expect.stringContaining(said)])
    }
  },
  LIMIT_MS,
)
