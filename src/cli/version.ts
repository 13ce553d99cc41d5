import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** The same path from `src/cli` and from `dist/cli`. */
export function version(): string {
  // Without one: put into one file with others.
  return versionIn(new URL('../../package.json', import.meta.url)) ?? 'unknown'
}

const DRIVERS: Readonly<Record<string, readonly string[]>> = {
  postgres: ['pg', 'postgres'],
  mysql: ['mysql2', 'mariadb'],
  redis: ['ioredis', 'redis'],
  mongo: ['mongodb'],
  sqlite: ['libsql'],
}

/** The packages that the store may use, of those that are installed. Null if there is none. */
export function driversOf(store: string): string | null {
  const { resolve } = createRequire(import.meta.url)
  const found = (DRIVERS[store] ?? []).flatMap((name) => {
    // By hand: a package need not export its package.json.
    const all = (resolve.paths(name) ?? []).map((folder) => versionIn(`${folder}/${name}/package.json`))
    const version = all.find((each) => each !== null)
    return version ? [`${name} ${version}`] : []
  })
  return found.length === 0 ? null : found.join(', ')
}

function versionIn(file: string | URL): string | null {
  try {
    return String((JSON.parse(readFileSync(file, 'utf8')) as { version: unknown }).version)
  } catch {
    return null
  }
}
