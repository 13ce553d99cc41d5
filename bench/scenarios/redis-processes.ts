import { raceForOneKey } from '../one-key-tasks.ts'
import type { RedisContender } from '../redis/figures.ts'
import { withKeys } from '../redis/server.ts'
import type { Samples } from '../throughput.ts'

const FILE = new URL('../redis/one-key-process.ts', import.meta.url)

export function processes(contender: RedisContender): Promise<Samples> {
  return withKeys((url, prefix) => raceForOneKey(FILE, [url, prefix, JSON.stringify(contender)]))
}
