import type { Ioredis } from '../../databases/ioredis.ts'
import type { Scanner } from './client.ts'

/** SCAN on one node. A `keyPrefix` applies neither to the pattern nor to the names. */
export function scannerOf(name: string, redis: Ioredis): Scanner {
  return {
    name,
    async scan(cursor, match, count) {
      const [next, names] = await redis.scan(cursor, 'MATCH', match, 'COUNT', count)
      return { cursor: next, names }
    },
  }
}
