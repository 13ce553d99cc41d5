import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { embedded, MODULE } from '../../scripts/embed-lua.ts'
import { LOCK_ERROR_CODES } from '../../src/errors.ts'

const root = resolve(import.meta.dirname, '..', '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

describe('docs/errors.md', () => {
  /** A code is explained where it opens a heading or a row of a table. */
  function explained(): Set<string> {
    const openings = read('docs/errors.md').matchAll(/^(?:#{1,6} |\| *)\[?`?([A-Z]+(?:_[A-Z]+)*)\b/gm)
    return new Set(Array.from(openings, ([, code = '']) => code).filter((code) => code.length > 1))
  }

  it('explains every code', () => {
    const codes = explained()
    expect(LOCK_ERROR_CODES.filter((code) => !codes.has(code))).toEqual([])
  })

  it('explains no code that does not exist', () => {
    expect([...explained()].filter((code) => !LOCK_ERROR_CODES.includes(code as never))).toEqual([])
  })
})

describe('stores', () => {
  it('each has a conformance test that runs the suite', () => {
    const entries = readdirSync(join(root, 'src/stores')).map((entry) => entry.replace(/\.ts$/, ''))
    const stores = entries.filter((entry) => entry !== 'shared')
    expect(stores).not.toEqual([])
    for (const store of stores) {
      expect(read(`test/conformance/${store}.test.ts`)).toMatch(/from '\.\.\/\.\.\/src\/testing\/index\.ts'/)
    }
  })
})

it('the Lua of the Redis store is embedded as it is written; else run npm run embed', () => {
  expect(readFileSync(MODULE, 'utf8')).toBe(embedded())
})

describe('size', () => {
  const folders = ['src', 'test', 'bench', 'examples', 'scripts']
  const lines = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(ts|js)$/.test(file) && !file.includes('node_modules'))
      .map((file) => ({
        file: `${folder}/${file}`,
        lines: read(`${folder}/${file}`).split('\n').length - 1,
      })),
  )

  it('no source file has more than 400 lines', () => {
    expect(lines.filter((file) => file.lines > 400)).toEqual([])
  })
})
