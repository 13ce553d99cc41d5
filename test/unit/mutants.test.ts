import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { CORE_MUTANTS } from '../mutants/core/index.ts'
import { GUARD_MUTANTS } from '../mutants/guards/index.ts'
import { STORE_MUTANTS } from '../mutants/stores/index.ts'

const root = resolve(import.meta.dirname, '../..')
const mutants = [...CORE_MUTANTS, ...STORE_MUTANTS, ...GUARD_MUTANTS]

it('every mutant has its place in the sources, and only one', () => {
  const stale = mutants.flatMap(({ part, bug, changes }) =>
    changes
      .filter(({ file, find }) => readFileSync(resolve(root, file), 'utf8').split(find).length !== 2)
      .map(({ file, find }) => ({ mutant: `${part}: ${bug}`, file, find })),
  )
  expect(stale).toEqual([])
})

it('docs/mutants.md has every mutant, and no other', () => {
  const page = readFileSync(resolve(root, 'docs/mutants.md'), 'utf8')
  const parts = page.slice(page.indexOf('<!-- written by')).split('\n## ').slice(1)
  const shown = parts.flatMap((part) => {
    const rows = [...part.matchAll(/^\| (.*?) \| .* \| \d.* \|$/gm)]
    return rows.map(([, bug]) => `${part.slice(0, part.indexOf('\n'))}: ${bug}`.toLowerCase())
  })
  // What stands in a table has its bars escaped.
  const planted = mutants.map(({ part, bug }) => `${part}: ${bug.replaceAll('|', '\\|')}`.toLowerCase())
  expect(shown.sort()).toEqual(planted.sort())
})

it('no two mutants of a part have one description', () => {
  const names = mutants.map(({ part, bug }) => `${part}: ${bug}`)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})
