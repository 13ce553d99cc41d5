import { afterAll, describe, it } from 'vitest'
import { storeConformance } from '../../src/testing/index.ts'
import { startPgBouncer } from '../servers/pgbouncer.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import client, { type PostgresAddress } from '../support/postgres-client.ts'

// Connections are shared between transactions: nothing is prepared, nobody is listened to, waiters are polled for.
const pooler = await startPgBouncer(await freshDatabase(), { mode: 'transaction' })
afterAll(() => pooler.stop())
const address: PostgresAddress = { url: pooler.url, driver: 'url' }

storeConformance(
  { describe, it },
  {
    name: 'postgres through PgBouncer in transaction mode',
    createStore: () => client(address),
    processes: { module: new URL('../support/postgres-client.ts', import.meta.url), argument: address },
  },
)
