/** One round of one scenario on MariaDB, in a process of its own; `../index.ts` starts it and hears the result. */
import { onMariadb } from '../scenarios/held-leases.ts'
import * as keys from '../scenarios/mysql-distinct-keys.ts'
import { handover } from '../scenarios/mysql-handover.ts'
import { oneKey } from '../scenarios/mysql-one-key.ts'
import { oneTask } from '../scenarios/mysql-one-task.ts'
import { processes } from '../scenarios/mysql-processes.ts'
import type { Samples } from '../throughput.ts'
import type { MariadbContender, MariadbScenario } from './figures.ts'

const SCENARIOS: Record<MariadbScenario, (contender: MariadbContender) => Promise<Samples>> = {
  'mariadb-new-keys': keys.newKeys,
  'mariadb-known-keys': keys.knownKeys,
  'mariadb-one-task': oneTask,
  'mariadb-one-key': oneKey,
  'mariadb-processes': processes,
  'mariadb-handover': handover,
  'mariadb-held-leases': onMariadb,
}

const [scenario, contender] = process.argv.slice(2) as [MariadbScenario, string]
const samples = await SCENARIOS[scenario](JSON.parse(contender) as MariadbContender)
process.send?.(samples, () => process.exit())
