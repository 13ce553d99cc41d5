import { describe, it } from 'vitest'
import { storeConformance } from '../../src/testing/index.ts'
import { freshMariadbDatabase } from '../servers/shared-mariadb.ts'
import client, { type MysqlAddress } from '../support/mysql-client.ts'

const address: MysqlAddress = { url: await freshMariadbDatabase(), driver: 'mariadb' }

storeConformance(
  { describe, it },
  {
    name: 'mysql with mariadb',
    createStore: () => client(address),
    processes: { module: new URL('../support/mysql-client.ts', import.meta.url), argument: address },
  },
)
