import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { ROUTES } from '../../src/server/routes.ts'

const root = resolve(import.meta.dirname, '..', '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

it('each threat of docs/security.md names its tests, and all of them are there', () => {
  const [, section = ''] = read('docs/security.md').split('## Threats\n')
  const rows = section
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => /^\| (?!Threat|-)/.test(line))
  expect(rows.length).toBeGreaterThan(15)
  const tests = ['test/unit', 'test/faults']
    .flatMap((folder) => readdirSync(join(root, folder)).map((file) => `${folder}/${file}`))
    .filter((file) => /\/(server|cli-serve).*\.test\.ts$/.test(file))
    .map((file) => read(file))
    .join('\n')
  for (const row of rows) {
    const [, threat, , named = ''] = row.split(' | ').length === 3 ? ['', ...row.split(' | ')] : []
    const titles = [...named.matchAll(/`([^`]+)`/g)].map(([, title = '']) => title)
    expect([threat, titles.length]).not.toEqual([threat, 0])
    for (const title of titles) expect([title, tests.includes(`'${title}'`)]).toEqual([title, true])
  }
})

it('docs/http-api.md has every route', () => {
  const page = read('docs/http-api.md')
  for (const { method, path } of ROUTES.filter(
    (route) => !/assets/.test(route.path) && route.path !== '/api/locks',
  )) {
    const shown = `${method} ${path.replace(/:(\w+)(\{.*\})?/, '{$1}')}`
    expect([shown, page.includes(`\`${shown}`)]).toEqual([shown, true])
  }
})
