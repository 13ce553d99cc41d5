import { raceForOneKey } from '../one-key-tasks.ts'
import { useOnce } from '../opened.ts'
import { open } from '../sqlite/contenders.ts'
import type { SqliteContender } from '../sqlite/figures.ts'
import { withFile } from '../sqlite/file.ts'
import type { Samples } from '../throughput.ts'

const FILE = new URL('../sqlite/one-key-process.ts', import.meta.url)

export function processes(contender: SqliteContender): Promise<Samples> {
  return withFile(async (file) => {
    await useOnce(await open(contender, file))
    return raceForOneKey(FILE, [file, JSON.stringify(contender)])
  })
}
