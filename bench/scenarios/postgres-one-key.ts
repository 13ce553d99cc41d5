import type { Contender } from '../figures.ts'
import { raceForOneKey } from '../one-key-tasks.ts'
import { useOnce } from '../opened.ts'
import { open } from '../postgres/contenders.ts'
import { withDatabase } from '../postgres/database.ts'
import type { Samples } from '../throughput.ts'

const FILE = new URL('../postgres/one-key-process.ts', import.meta.url)

export function oneKey(contender: Contender): Promise<Samples> {
  return withDatabase(async (url) => {
    await useOnce(await open(contender, url))
    return raceForOneKey(FILE, [url, JSON.stringify(contender)])
  })
}
