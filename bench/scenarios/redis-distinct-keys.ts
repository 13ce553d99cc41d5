import { open } from '../redis/contenders.ts'
import { prove } from '../opened.ts'
import type { RedisContender } from '../redis/figures.ts'
import { onServer, processorMs, withKeys } from '../redis/server.ts'
import { type Samples, throughput } from '../throughput.ts'

const TASKS = 100
/** Enough for a few seconds, after as many as it takes until all code is compiled: some 60,000. */
const PAIRS = 240_000

export function distinctKeys(contender: RedisContender): Promise<Samples> {
  return withKeys(async (url, prefix) => {
    const opened = await open(contender, url, prefix)
    // By hand, nobody waits.
    if (contender.kind !== 'raw') await prove(opened)
    let pairs = 0
    const cpu = await onServer(url, processorMs)
    const samples = await throughput(TASKS, PAIRS, async (i) => {
      const unlock = await opened.lock(`key ${i}`)
      await unlock()
      pairs += 1
    })
    const serverMs = (await onServer(url, processorMs)) - cpu
    await opened.close()
    return { ...samples, serverUs: [(serverMs * 1000) / pairs] }
  })
}
