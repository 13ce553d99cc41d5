/** One round of one scenario on MariaDB, in a process of its own; `../index.ts` starts it and hears the result. */
import { onMariadb } from '../scenarios/held-leases.ts'
import * as keys from '../scenarios/mysql-distinct-keys.ts'
import * as oneKey from '../scenarios/mysql-one-key.ts'
import { oneTask } from '../scenarios/mysql-one-task.ts'
import type { Samples } from '../throughput.ts'
import type { MariadbScenario } from './figures.ts'

const SCENARIOS: Record<MariadbScenario, () => Promise<Samples>> = {
  'mariadb-new-keys': keys.newKeys,
  'mariadb-known-keys': keys.knownKeys,
  'mariadb-plain': keys.plainStatements,
  'mariadb-one-task': oneTask,
  'mariadb-one-key': oneKey.viaHoldfast,
  'mariadb-one-key-plain': oneKey.viaPlainStatements,
  'mariadb-held-leases': onMariadb,
}

const [scenario] = process.argv.slice(2) as [MariadbScenario]
const samples = await SCENARIOS[scenario]()
process.send?.(samples, () => process.exit())
