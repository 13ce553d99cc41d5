import * as ioredis5 from 'ioredis'
import * as ioredis6 from 'ioredis-6'
import * as redis5 from 'redis'
import * as redis6 from 'redis-6'
import { within } from '../../src/databases/limit.ts'
import type { RedisClient } from '../../src/stores/redis/client.ts'
import type { Opened } from '../../src/stores/redis/opened.ts'
import { type IoredisModule, openIoredis } from '../../src/stores/redis/own-ioredis.ts'
import { type NodeRedisModule, openNodeRedis } from '../../src/stores/redis/own-node-redis.ts'
import { readRedisUrl, type RedisUrl } from '../../src/stores/redis/url.ts'
import { atEnd } from './stage.ts'

interface RedisPackage {
  readonly name: string
  readonly open: (url: RedisUrl) => Opened
}

const ofIoredis = (module: object) => (url: RedisUrl) => openIoredis(module as IoredisModule, url)
const ofNodeRedis = (module: object) => (url: RedisUrl) => openNodeRedis(module as NodeRedisModule, url)

/** The packages that a URL may be opened with. */
export const packages: readonly RedisPackage[] = [
  { name: 'ioredis 5', open: ofIoredis(ioredis5) },
  { name: 'ioredis 6', open: ofIoredis(ioredis6) },
  { name: 'node-redis 5', open: ofNodeRedis(redis5) },
  { name: 'node-redis 6', open: ofNodeRedis(redis6) },
]

const LIMIT_MS = 6_000

/** What was opened for a URL, as a store of its own uses it. Closed after the test. */
export class OwnStage {
  readonly client: RedisClient
  readonly #opened: Opened

  constructor({ open }: RedisPackage, url: string) {
    this.#opened = open(readRedisUrl(url, 'test'))
    this.client = this.#opened.client
    atEnd(() => this.client.close())
  }

  /** Within a limit, as core has one: node-redis waits for a node of a cluster that is gone until it is back. */
  eval(text: string, ...keys: string[]): Promise<unknown> {
    return within(this.#eval(text, keys), LIMIT_MS, () => new Error(`no answer within ${LIMIT_MS} ms`))
  }

  async #eval(text: string, keys: string[]): Promise<unknown> {
    await this.#opened.ready()
    return this.client.eval(text, keys, [])
  }
}
