import { describe, it } from 'vitest'
import { memoryStore } from '../../src/stores/memory.ts'
import { movingStore } from '../../src/stores/moving/index.ts'
import { storeConformance } from '../../src/testing/index.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { freshPrefix } from '../servers/shared-redis.ts'
import client, { type HouseAddress, type MoveAddress } from '../support/moving-client.ts'

const from = memoryStore()
const to = memoryStore()

storeConformance({ describe, it }, { name: 'memory to memory', createStore: () => movingStore({ from, to }) })

const { url, prefix } = freshPrefix()
const redis: HouseAddress = { kind: 'redis', at: { urls: [url], driver: 'ioredis', prefix } }
const postgres: HouseAddress = { kind: 'postgres', at: { url: await freshDatabase(), driver: 'pg' } }
const address: MoveAddress = { from: redis, to: postgres }

storeConformance(
  { describe, it },
  {
    name: 'redis to postgres',
    createStore: () => client(address),
    // What one store denies, the other is not asked for: only Redis knew, and has removed it.
    tellsExpired: false,
    processes: { module: new URL('../support/moving-client.ts', import.meta.url), argument: address },
  },
)
