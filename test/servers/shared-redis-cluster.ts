/**
 * The Redis Cluster that all test files of a project share. It is started by the first one that imports this, or is
 * that of HOLDFAST_REDIS_CLUSTER_URL. Tests that move slots or end nodes start their own, see redis-cluster.ts.
 *
 *     const { urls, prefix } = freshClusterPrefix()   // removed after the last test of the file
 */
import { randomBytes } from 'node:crypto'
import { afterAll } from 'vitest'
import { clusterView } from './redis-cluster-view.ts'
import { removeKeys } from './redis-keys.ts'
import { sharedServer } from './shared-server.ts'

const urls = (await sharedServer('redis-cluster')).split(',')
const [url = ''] = urls
const prefixes: string[] = []

afterAll(async () => {
  if (prefixes.length === 0) return
  for (const { host, port, slots } of await clusterView(url)) {
    if (slots.length === 0) continue
    const master = new URL(url)
    master.hostname = host
    master.port = String(port)
    for (const prefix of prefixes) await removeKeys(master.href, prefix)
  }
  prefixes.length = 0
})

/** The cluster, and what the names of no other caller's keys have in them. */
export function freshClusterPrefix(): {
  readonly url: string
  readonly urls: readonly string[]
  readonly prefix: string
} {
  const prefix = `holdfast-${randomBytes(8).toString('hex')}`
  prefixes.push(prefix)
  return { url, urls, prefix }
}
