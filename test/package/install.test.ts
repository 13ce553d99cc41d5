import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { run } from './command.ts'
import { NODE_VERSIONS } from './node-versions.ts'

const { bare, full, nodes } = inject('packed')
const builtIn = process.getBuiltinModule?.('node:sqlite') !== undefined

interface Seen {
  readonly node: string
  readonly tokens: readonly string[]
}

async function lock(node: string, project: string, opener: string, file = freshFile()): Promise<Seen> {
  const flags = ['--disable-warning=ExperimentalWarning', '--unhandled-rejections=strict']
  return JSON.parse(await run(node, [...flags, 'lock.js', opener, file], project)) as Seen
}

function freshFile(): string {
  return join(mkdtempSync(join(full, 'data-')), 'locks.db')
}

describe(`on Node ${process.versions.node}, which runs the tests`, () => {
  it.each(['memory', 'memory:'])('%s needs nothing but holdfast', async (opener) => {
    expect((await lock(process.execPath, bare, opener)).tokens).toHaveLength(2)
  })

  it.each(['path', 'sqlite:', 'libsql'])('%s locks in a SQLite file', async (opener) => {
    expect((await lock(process.execPath, full, opener)).tokens).toHaveLength(2)
  })

  it('require() finds the same module as import()', async () => {
    const program = `import('holdfast').then((module) => console.log(require('holdfast') === module))`
    expect(await run(process.execPath, ['--no-warnings', '--input-type=commonjs', '-e', program], bare)).toBe(
      'true\n',
    )
  })

  it.skipIf(builtIn)('a missing driver says what to install', async () => {
    await expect(lock(process.execPath, bare, 'path')).rejects.toThrow(/npm install libsql/)
    await expect(lock(process.execPath, bare, 'sqlite:')).rejects.toThrow(/npm install libsql/)
  })
})

describe.each(NODE_VERSIONS)('on Node %s', (version) => {
  const node = nodes[version]

  it.each(['memory', 'path', 'sqlite:', 'node:sqlite'])('%s needs nothing but holdfast', async (opener) => {
    const seen = await lock(node, bare, opener)
    expect(seen).toEqual({ node: version, tokens: [expect.any(String), expect.any(String)] })
  })

  it.each(['better-sqlite3', 'libsql'])('%s may be the user’s own database', async (opener) => {
    expect((await lock(node, full, opener)).node).toBe(version)
  })
})

it('G3 tokens rise in one file across drivers and Node versions', async () => {
  const file = freshFile()
  const turns: readonly (readonly [node: string, opener: string])[] = [
    [process.execPath, 'libsql'],
    ...NODE_VERSIONS.flatMap((version) =>
      ['path', 'better-sqlite3', 'libsql'].map((name) => [nodes[version], name] as const),
    ),
    [process.execPath, 'path'],
  ]
  const tokens: bigint[] = []
  for (const [node, opener] of turns)
    tokens.push(...(await lock(node, full, opener, file)).tokens.map(BigInt))
  expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => (a < b ? -1 : 1)))
})
