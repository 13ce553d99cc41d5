/**
 * The Redis that all test files of a project share. It is started by the first one that imports this, or is that of
 * HOLDFAST_REDIS_URL. Tests that stop, freeze, flush or configure a server start their own, see redis.ts.
 *
 *     const { url, prefix } = freshPrefix()   // anywhere in a test file; removed after the last test of the file
 */
import { randomBytes } from 'node:crypto'
import { afterAll } from 'vitest'
import { removeKeys } from './redis-keys.ts'
import { sharedServer } from './shared-server.ts'

const url = await sharedServer('redis')
const prefixes: string[] = []

afterAll(async () => {
  for (const prefix of prefixes.splice(0)) await removeKeys(url, prefix)
})

/** The server, and what the names of no other caller's keys have in them. */
export function freshPrefix(): { readonly url: string; readonly prefix: string } {
  const prefix = `holdfast-${randomBytes(8).toString('hex')}`
  prefixes.push(prefix)
  return { url, prefix }
}
