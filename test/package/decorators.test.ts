import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { run } from './command.ts'

/** Decorators are what a compiler makes of them: both kinds, by the two compilers that people use. */
const root = resolve(import.meta.dirname, '..', '..')
const sources = join(import.meta.dirname, 'decorators')
const folder = mkdtempSync(join(tmpdir(), 'holdfast-decorators-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))

type Runner = (program: string) => Promise<unknown>

/** Types are checked on the way. */
async function compiled(config: string): Promise<Runner> {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const out = join(folder, config)
  await run(process.execPath, [compiler, '-p', join(sources, config), '--outDir', out], root)
  return async (program) =>
    JSON.parse(await run(process.execPath, [join(out, 'test/package/decorators', `${program}.js`)], folder))
}

/** By esbuild, which checks nothing. */
async function loaded(config: string): Promise<Runner> {
  const env = { TSX_TSCONFIG_PATH: join(sources, config) }
  return async (program) => {
    const args = ['--import', import.meta.resolve('tsx'), join(sources, `${program}.ts`)]
    return JSON.parse(await run(process.execPath, args, folder, { env }))
  }
}

describe.each([
  ['standard, by tsc', compiled, 'tsconfig.json'],
  ['experimental, by tsc', compiled, 'tsconfig.legacy.json'],
  ['standard, by esbuild', loaded, 'tsconfig.json'],
  ['experimental, by esbuild', loaded, 'tsconfig.legacy.json'],
] as const)('@locked, %s', (_kind, prepare, config) => {
  it('compiles, locks methods and static methods, and is refused elsewhere', async () => {
    const runner = await prepare(config)
    const results = (await runner('stock')) as { refused: string[] }
    const isStandard = config === 'tsconfig.json'
    expect(results).toMatchObject({
      mode: isStandard ? 'standard' : 'experimental',
      name: ['take', 2, true],
      take: ['t1', 'a', 2, 'stock:a'],
      count: 'stock:t1:b',
      both: ['c', 't1'],
      found: [7, 'found:7'],
      rebuild: 'static:eu',
      orNull: null,
      orElse: 't1 LOCK_ACQUIRE_TIMEOUT 3.0',
      again: 'LOCK_ACQUIRE_TIMEOUT',
      derived: ['derived', 't1', 'a', 2, 'stock:a'],
      alone: ['alone', 'alone'],
    })
    expect(results.refused).toEqual([
      expect.stringMatching(/^INVALID_OPTION .*"many" is a generator/),
      expect.stringMatching(/^INVALID_OPTION .*"many" is a generator/),
      expect.stringMatching(/^INVALID_OPTION .*on an async method, not on the (getter|accessor) "size"/),
      expect.stringMatching(/^INVALID_OPTION .*on an async method, not on the field "take"/),
      expect.stringMatching(/^INVALID_OPTION .*on an async method, not on (a class|the class "Refused")/),
      expect.stringMatching(/^INVALID_OPTION .*is no placeholder/),
    ])
    if (config === 'tsconfig.json')
      await expect(runner('private')).resolves.toEqual(['private:x', 'static:y'])
  })
})
