/**
 * The PostgreSQL that all test files of a project share. It is started by the first one that imports this, or is
 * that of HOLDFAST_POSTGRES_URL. Tests that stop or freeze a server start their own, see postgres.ts.
 *
 *     const url = await freshDatabase()   // anywhere in a test file; dropped after the last test of the file
 */
import { randomBytes } from 'node:crypto'
import { afterAll } from 'vitest'
import { runStatement } from './postgres-statement.ts'
import { sharedServer } from './shared-server.ts'

const server = await sharedServer('postgres')
const databases: string[] = []

afterAll(async () => {
  // Whatever is still connected is a test's mistake, but not that of the next.
  for (const name of databases.splice(0)) await onServer(`drop database "${name}" with (force)`)
})

/** The URL of a new, empty database. */
export async function freshDatabase(): Promise<string> {
  const name = `holdfast_${randomBytes(8).toString('hex')}`
  await onServer(`create database "${name}"`)
  databases.push(name)
  const url = new URL(server)
  url.pathname = name
  return url.href
}

async function onServer(statement: string): Promise<void> {
  try {
    await runStatement(server, statement)
  } catch (error) {
    throw new Error(`the shared PostgreSQL refused: ${statement}`, { cause: error })
  }
}
