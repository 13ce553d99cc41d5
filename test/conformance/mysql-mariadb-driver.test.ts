import { describe, it } from 'vitest'
import { storeConformance } from '../../src/testing/index.ts'
import { freshMariadbDatabase } from '../servers/shared-mariadb.ts'
import client, { type MysqlAddress } from '../support/mysql-client.ts'

const address: MysqlAddress = { url: await freshMariadbDatabase(), driver: 'mariadb' }

// Between processes it is the server that counts, and not the driver: they have their turn with the other one.
storeConformance(
  { describe, it },
  {
    name: 'mysql with mariadb',
    createStore: () => client(address),
  },
)
