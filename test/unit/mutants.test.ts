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

it('no two mutants of a part have one description', () => {
  const names = mutants.map(({ part, bug }) => `${part}: ${bug}`)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})
