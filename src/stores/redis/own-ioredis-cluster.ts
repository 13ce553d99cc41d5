import type { Ioredis, IoredisCluster } from '../../databases/ioredis.ts'
import { within } from '../../databases/limit.ts'
import { IoredisClusterClient } from './ioredis-cluster.ts'
import { CONNECT_LIMIT_MS, type Opened, unreachable } from './opened.ts'
import type { RedisUrl } from './url.ts'

type Fault = Error & { readonly code?: unknown }
type OwnCluster = IoredisCluster & { disconnect(): void }

/** Keeps the process alive until it is closed: the client has a connection of its own that others cannot reach. */
export function openIoredisCluster(
  Cluster: new (nodes: readonly object[], options: object) => OwnCluster,
  { addresses, tls }: RedisUrl,
  redisOptions: object,
): Opened {
  const cluster = new Cluster(addresses, {
    lazyConnect: true,
    enableOfflineQueue: false,
    clusterRetryStrategy: null,
    slotsRefreshTimeout: CONNECT_LIMIT_MS,
    // A certificate is for the name.
    dnsLookup: (name: string, found: (error: null, address: string) => void) => found(null, name),
    redisOptions,
  })
  const nodes = nodesOf(cluster)
  const faults: Fault[] = []
  let connecting: Promise<void> | undefined
  for (const event of ['error', 'node error']) {
    cluster.on(event, (error) => void (connecting && faults.push(error as Fault)))
  }
  const connect = async (): Promise<void> => {
    try {
      // By itself it never settles if the client ends before it is ready, as when the nodes say that the cluster is down.
      await Promise.race([cluster.connect(), endOf(cluster)])
    } catch (error) {
      if (cluster.status !== 'end') cluster.disconnect()
      await ended(cluster)
      // On its own, the client would only say that none of the nodes is available.
      const why = faults.find(({ code }) => code !== undefined) ?? faults[0] ?? (error as Fault)
      if (why.code === 'ETIMEDOUT') throw unreachable(tls, why)
      throw why.message === 'Connection is closed.' ? nobody(why) : why
    } finally {
      faults.length = 0
    }
  }
  const ready = async (): Promise<void> => {
    if (cluster.status === 'ready') return
    connecting ??= connect().finally(() => (connecting = undefined))
    await within(connecting, CONNECT_LIMIT_MS + 100, () => {
      cluster.disconnect()
      return unreachable(tls)
    })
  }
  const end = async (): Promise<void> => {
    cluster.disconnect()
    for (const node of nodes) node.disconnect()
  }
  return { client: new IoredisClusterClient(cluster, end), ready }
}

/**
 * The connections that the client has made and that have not ended. It knows them by address: when an old one ends late
 * it forgets the new one to the same address, which it then would never end.
 */
function nodesOf(cluster: OwnCluster): Iterable<Ioredis> {
  const nodes = new Set<Ioredis>()
  cluster.on('+node', (made) => {
    const node = made as Ioredis
    nodes.add(node)
    node.on('end', () => nodes.delete(node))
  })
  return nodes
}

/** Until then it would refuse to connect again. */
async function ended(cluster: OwnCluster): Promise<void> {
  if (cluster.status === 'end') return
  let end: () => void = () => undefined
  const over = new Promise<void>((resolve) => (end = resolve))
  cluster.on('end', end)
  await over
  cluster.removeListener('end', end)
}

async function endOf(cluster: OwnCluster): Promise<never> {
  await ended(cluster)
  throw new Error('Connection is closed.')
}

function nobody(cause: Error): Error {
  return new Error('no node of the cluster can be reached; check hosts, ports and firewall', { cause })
}
