import { inBlocks } from '../blocks.ts'
import { open } from '../sqlite/contenders.ts'
import { withFile } from '../sqlite/file.ts'
import { openPlain, pairOf } from '../sqlite/plain.ts'
import type { Samples } from '../throughput.ts'

/** One task that nobody disturbs, in turns with two transactions on a file of their own: a block of pairs each. */
export function oneTask(): Promise<Samples> {
  return withFile(async (file) => {
    const opened = await open({ kind: 'holdfast' }, file)
    const plain = await openPlain(`${file}.plain`)
    const viaHoldfast = async (key: string): Promise<void> => {
      const unlock = await opened.lock(key)
      await unlock()
    }
    const viaRaw = async (key: string): Promise<void> => pairOf(plain, key)
    const [pairMs, rawMs] = await inBlocks(viaHoldfast, viaRaw, { blocks: 50, pairs: 100, warmUp: 20 })
    plain.close()
    await opened.close()
    return { pairUs: [pairMs * 1000], rawUs: [rawMs * 1000], timesRaw: [pairMs / rawMs] }
  })
}
