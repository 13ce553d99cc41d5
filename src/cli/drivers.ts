import { createRequire } from 'node:module'
import { versionIn } from '../version.ts'

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
