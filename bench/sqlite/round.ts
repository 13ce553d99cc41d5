/** One round of one scenario on SQLite, in a process of its own; `../index.ts` starts it and hears the result. */
import { distinctKeys } from '../scenarios/sqlite-distinct-keys.ts'
import { handover } from '../scenarios/sqlite-handover.ts'
import { oneKey } from '../scenarios/sqlite-one-key.ts'
import { oneTask } from '../scenarios/sqlite-one-task.ts'
import { processes } from '../scenarios/sqlite-processes.ts'
import type { Samples } from '../throughput.ts'
import type { SqliteContender, SqliteScenario } from './figures.ts'

const SCENARIOS: Record<SqliteScenario, (contender: SqliteContender) => Promise<Samples>> = {
  'sqlite-distinct-keys': distinctKeys,
  'sqlite-one-task': oneTask,
  'sqlite-one-key': oneKey,
  'sqlite-processes': processes,
  'sqlite-handover': handover,
}

const [scenario, contender] = process.argv.slice(2) as [SqliteScenario, string]
const samples = await SCENARIOS[scenario](JSON.parse(contender) as SqliteContender)
process.send?.(samples, () => process.exit())
