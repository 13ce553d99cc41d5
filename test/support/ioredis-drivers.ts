import { createHash } from 'node:crypto'
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis'
import { Cluster as Cluster6, Redis as Redis6 } from 'ioredis-6'
import { Cluster as ValkeyCluster, Redis as Valkey } from 'iovalkey'
import type { Ioredis, IoredisCluster } from '../../src/databases/ioredis.ts'
import type { Script } from '../../src/stores/redis/client.ts'
import { atEnd } from './stage.ts'

export interface Driver {
  readonly name: string
  /** Closed after the test. */
  redis(options: object): Ioredis
  cluster(nodes: { host: string; port: number }[], options?: object): IoredisCluster & { disconnect(): void }
}

function ending<C extends { disconnect(): void; on(event: string, listener: () => void): unknown }>(
  client: C,
): C {
  client.on('error', () => {})
  atEnd(() => client.disconnect())
  return client
}

export const drivers: readonly Driver[] = [
  {
    name: 'ioredis 5',
    redis: (options) => ending(new Redis5(options)),
    cluster: (nodes, options) => ending(new Cluster5(nodes, options)),
  },
  {
    name: 'ioredis 6',
    redis: (options) => ending(new Redis6(options)),
    cluster: (nodes, options) => ending(new Cluster6(nodes, options)),
  },
  {
    name: 'iovalkey',
    redis: (options) => ending(new Valkey(options)),
    cluster: (nodes, options) => ending(new ValkeyCluster(nodes, options)),
  },
]

export function scriptOf(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}
