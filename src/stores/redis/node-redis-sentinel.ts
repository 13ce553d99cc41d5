import { lendMaster, type NodeRedisSentinel } from '../../databases/node-redis.ts'
import { type Lend, NodeRedisClient } from './node-redis.ts'
import { CONNECT_LIMIT_MS } from './opened.ts'

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
 *
 * While there is no master, node-redis lets that one call wait without a limit. Those behind it do not pile up.
 */
function oneByOne(sentinel: NodeRedisSentinel): Lend {
  const waiting = new Set<() => void>()
  let isBeginning = false
  const turn = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer)
        waiting.delete(begin)
        resolve()
      }
      const giveUp = (): void => {
        waiting.delete(begin)
        reject(new Error(`given up: no connection to a master within ${CONNECT_LIMIT_MS} ms`))
      }
      const timer = setTimeout(giveUp, CONNECT_LIMIT_MS).unref()
      waiting.add(begin)
    })
  return async (work) => {
    if (isBeginning) await turn()
    isBeginning = true
    let begun = false
    const passOn = (): void => {
      if (begun) return
      begun = true
      const [next] = waiting
      if (next) next()
      else isBeginning = false
    }
    try {
      return await lendMaster(sentinel, (client) => {
        passOn()
        return work(client)
      })
    } finally {
      passOn()
    }
  }
}
