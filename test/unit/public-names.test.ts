import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

/** Whatever can be imported from a path of the package is explained somewhere in its documentation. */
const root = resolve(import.meta.dirname, '..', '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const filesIn = (folder: string, ending: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => `${folder}/${file}`)

const pages = filesIn('docs', '.md').filter((page) => !page.startsWith('docs/adr/'))
const known = new Set(['README.md', ...pages].flatMap((page) => read(page).match(/\w+/g) ?? []))

const { exports } = JSON.parse(read('package.json')) as { exports: Record<string, { default?: string }> }
const paths = Object.entries(exports).flatMap(([path, { default: built }]) => {
  if (built === undefined) return []
  const names = exportedBy(read(built.replace('./dist/', 'src/').replace(/\.js$/, '.ts')))
  return [{ path, names }]
})

describe('every public name is in the documentation', () => {
  it.each(paths)('$path', ({ names }) => {
    expect(names.length).toBeGreaterThan(0)
    expect(names.filter((name) => !known.has(name))).toEqual([])
  })
})

it('no public name stands for two things', () => {
  const declared = filesIn('src', '.ts').flatMap((file) => [...new Set(declaredBy(read(file)))])
  const shared = paths.flatMap(({ names }) => names).filter((name, index, all) => all.indexOf(name) < index)
  expect(shared).toContain('memoryStore')
  expect(shared.filter((name) => declared.indexOf(name) !== declared.lastIndexOf(name))).toEqual([])
})

describe('every option is in the documentation', () => {
  const isPublic = new Set(paths.flatMap(({ names }) => names))
  const sources = filesIn('src', '.ts').map(read).join('\n')
  const found = sources.matchAll(
    /^export interface (\w*(?:Options|Config|Settings|Defaults|Rate|Strategy|Place)) [^{]*\{\n(.*?)^\}/gms,
  )
  const options = [...found].flatMap(([, name = '', body = '']) => {
    const members = [...body.matchAll(/^ {2}(?:readonly )?(\w+)(\??): ?(.*(?:\n {4}.*)*)/gm)]
    const fields = members.map(([, field = '', mark, type = '']) => ({ field, optional: mark === '?', type }))
    return isPublic.has(name) ? [{ name, fields }] : []
  })

  it('of every path', () => {
    expect(options.length).toBeGreaterThan(20)
  })

  it.each(options)('$name', ({ fields }) => {
    expect(fields.filter(({ field }) => !known.has(field))).toEqual([])
  })

  it.each(options)('$name takes undefined for what may be left out', ({ fields }) => {
    const strict = fields.filter(({ optional, type }) => optional && !/undefined|^unknown$/.test(type))
    expect(strict).toEqual([])
  })
})

function exportedBy(source: string): string[] {
  expect(source).not.toMatch(/^export \*/m)
  const listed = [...source.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = '']) =>
    list.split(','),
  )
  const names = listed.map(
    (each) =>
      each
        .trim()
        .replace(/^type /, '')
        .split(' as ')
        .at(-1) ?? '',
  )
  return declaredBy(source).concat(names).filter(Boolean)
}

function declaredBy(source: string): string[] {
  const declared = source.matchAll(/^export (?:async )?(?:function|const|class|interface|type) (\w+)/gm)
  return [...declared].map(([, name = '']) => name)
}
