import { open } from '../mariadb/contenders.ts'
import type { MariadbContender } from '../mariadb/figures.ts'
import { withDatabase } from '../mariadb/server.ts'
import { raceForOneKey } from '../one-key-tasks.ts'
import { useOnce } from '../opened.ts'
import type { Samples } from '../throughput.ts'

const FILE = new URL('../mariadb/one-key-process.ts', import.meta.url)

export function processes(contender: MariadbContender): Promise<Samples> {
  return withDatabase(async (url) => {
    await useOnce(await open(contender, url))
    return raceForOneKey(FILE, [url, JSON.stringify(contender)])
  })
}
