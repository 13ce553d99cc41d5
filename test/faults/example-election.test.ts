import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

it('the example has one writer among five processes, whose tokens rise in the log when leaders die, stop and resign', async () => {
  const script = resolve(import.meta.dirname, '../../examples/election/index.ts')
  const run = promisify(execFile)(process.execPath, ['--import', 'tsx', script])
  const { stdout } = await run.catch((error: Error & { stdout?: string }) => {
    throw new Error(`${error.message}\n${error.stdout}`)
  })
  const said = stdout.split('\n').map((line) => line.replace(/^ *[\d.]+ s /, '').trim())
  const told = said.map((line) => line.replaceAll(/process \d/g, 'one').replace(/\d+ ms later/, 'soon'))
  expect(told.slice(0, 8)).toEqual([
    '5 processes stand for election',
    'one leads, and writes',
    'one is killed',
    'one leads, and writes',
    'one is paused with a line in hand, for longer than its lease',
    'one leads, and writes',
    'one goes on, writes its line, and is refused',
    expect.stringMatching(/^one resigns; one leads soon/),
  ])
  const tokens = [...stdout.matchAll(/token (\d+): \d+ lines by process \d/g)].map(([, token]) =>
    BigInt(token ?? ''),
  )
  expect(tokens.length).toBeGreaterThanOrEqual(4)
  expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)))
  expect(new Set(tokens).size).toBe(tokens.length)
  expect(said).toContain('the tokens rise')
})
