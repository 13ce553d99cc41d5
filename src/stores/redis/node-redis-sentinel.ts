import { lendMaster, type NodeRedisSentinel } from '../../databases/node-redis.ts'
import { type Lend, NodeRedisClient } from './node-redis.ts'

/** What `createSentinel` of node-redis gave, to the user or to us: the master that the sentinels name. */
export class NodeRedisSentinelClient extends NodeRedisClient {
  readonly #sentinel: NodeRedisSentinel
  readonly #changed = (event: unknown): void => {
    // The old master may well go on, as a replica, or alone.
    if ((event as { type: string }).type === 'MASTER_CHANGE') this.moved()
  }

  /** `end` closes the client if it is ours. */
  constructor(sentinel: NodeRedisSentinel, end?: () => Promise<void>) {
    super(sentinel, end, oneByOne(sentinel))
    this.#sentinel = sentinel
    sentinel.on('topology-change', this.#changed)
  }

  override async close(): Promise<void> {
    this.#sentinel.removeListener('topology-change', this.#changed)
    await super.close()
  }

  protected override get name(): string {
    const { host, port } = this.#sentinel.getMasterNode() ?? {}
    return `${host}:${port}`
  }
}

/**
 * Until one call has its connection, no other is begun; from then on they share it. Else node-redis would take one
 * out of its pool for each of them and give only the last one back, until there is none left.
 */
function oneByOne(sentinel: NodeRedisSentinel): Lend {
  let beginning: Promise<void> | undefined
  return async (work) => {
    while (beginning) await beginning
    let resolve: () => void = () => undefined
    const mine = new Promise<void>((done) => (resolve = done))
    const begun = (): void => {
      if (beginning === mine) beginning = undefined
      resolve()
    }
    beginning = mine
    try {
      return await lendMaster(sentinel, (client) => {
        begun()
        return work(client)
      })
    } finally {
      begun()
    }
  }
}
