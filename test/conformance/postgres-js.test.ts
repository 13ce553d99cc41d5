import { describe, it } from 'vitest'
import { storeConformance } from '../../src/testing/index.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import client, { type PostgresAddress } from '../support/postgres-client.ts'

const address: PostgresAddress = { url: await freshDatabase(), driver: 'postgres' }

// Between processes it is the server that counts, and not the driver: they have their turn with the other one.
storeConformance(
  { describe, it },
  {
    name: 'postgres with postgres.js',
    createStore: () => client(address),
  },
)
