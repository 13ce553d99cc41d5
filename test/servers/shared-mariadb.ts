/**
 * The MariaDB that all test files of a project share. It is started by the first one that imports this, or is that of
 * HOLDFAST_MYSQL_URL, which may be MySQL. Tests that stop or freeze a server start their own, see mariadb.ts.
 *
 *     const url = await freshMariadbDatabase()   // anywhere in a test file; dropped after the last test of the file
 */
import { randomBytes } from 'node:crypto'
import { afterAll } from 'vitest'
import { mysqlStatement } from './mysql-statement.ts'
import { sharedServer } from './shared-server.ts'

const server = await sharedServer('mariadb')
const databases: string[] = []

afterAll(async () => {
  for (const name of databases.splice(0)) await mysqlStatement(server, `drop database \`${name}\``)
})

/** The URL of a new, empty database. */
export async function freshMariadbDatabase(): Promise<string> {
  const name = `holdfast_${randomBytes(8).toString('hex')}`
  await mysqlStatement(server, `create database \`${name}\``)
  databases.push(name)
  const url = new URL(server)
  url.pathname = name
  return url.href
}
