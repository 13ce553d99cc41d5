import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { page as scaling } from '../../bench/curves/record.ts'
import { page as benchmarks } from '../../bench/record.ts'

it.each([
  ['docs/benchmarks.md', benchmarks],
  ['docs/scaling.md', scaling],
])('%s is what its figures give: `npm run bench -- --page` writes it anew', (file, page) => {
  expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toBe(page())
})
