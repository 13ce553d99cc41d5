import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { page } from '../../bench/record.ts'

it('docs/benchmarks.md is what its figures give: `npm run bench -- --page` writes it anew', () => {
  const file = new URL('../../docs/benchmarks.md', import.meta.url)
  expect(readFileSync(file, 'utf8')).toBe(page())
})
