/**
 * Locks whose defaults are in a key of etcd, and change with it:
 *
 *     etcdctl put holdfast/orders '{ "store": "memory:", "lease": "10s" }'
 *     ETCD_URL=http://localhost:2379 npx tsx examples/config/index.ts
 *     etcdctl put holdfast/orders '{ "store": "memory:", "lease": "20s" }'
 */
import { setTimeout } from 'node:timers/promises'
import { locksFromConfig } from '../../src/config/index.ts'
import { etcdSource } from './etcd.ts'

const { ETCD_URL } = process.env
if (!ETCD_URL) throw new Error('set ETCD_URL to an etcd, such as http://localhost:2379')

const locks = await locksFromConfig({ source: etcdSource({ url: ETCD_URL, key: 'holdfast/orders' }) })
const stop = new AbortController()
process.once('SIGINT', () => stop.abort())

for (let last = 0; !stop.signal.aborted;) {
  const leaseMs = await locks.using('demo', async () => (await locks.inspect('demo'))?.leaseMs ?? 0)
  if (leaseMs !== last) console.log(`a key is now kept for ${leaseMs} ms`)
  last = leaseMs
  await setTimeout(500, undefined, { signal: stop.signal }).catch(() => undefined)
}
await locks.close()
