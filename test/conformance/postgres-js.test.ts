import { describe, it } from 'vitest'
import { storeConformance } from '../../src/testing/index.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import client, { type PostgresAddress } from '../support/postgres-client.ts'

const address: PostgresAddress = { url: await freshDatabase(), driver: 'postgres' }

storeConformance(
  { describe, it },
  {
    name: 'postgres with postgres.js',
    createStore: () => client(address),
    processes: { module: new URL('../support/postgres-client.ts', import.meta.url), argument: address },
  },
)
