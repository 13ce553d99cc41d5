import type { MongoContender } from '../mongo/figures.ts'
import { withDatabase } from '../mongo/server.ts'
import { raceForOneKey } from '../one-key-tasks.ts'
import type { Samples } from '../throughput.ts'

const FILE = new URL('../mongo/one-key-process.ts', import.meta.url)

export function processes(contender: MongoContender): Promise<Samples> {
  return withDatabase((url) => raceForOneKey(FILE, [url, JSON.stringify(contender)]))
}
