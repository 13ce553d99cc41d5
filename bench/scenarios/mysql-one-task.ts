import { holdfast } from '../built.ts'
import { makePlain, onServer, pairOf, withDatabase } from '../mariadb/server.ts'
import { percentile } from '../percentile.ts'
import type { Samples } from '../throughput.ts'

const WARM_UP = 500
const PAIRS = 1500

/** Turn by turn, so that a busy moment of the machine meets both. */
export function oneTask(): Promise<Samples> {
  return withDatabase((url) =>
    onServer(url, async (pool) => {
      const plain = await makePlain(pool)
      const locks = holdfast.createLocks(url)
      const pair = async (): Promise<void> => {
        const lease = await locks.acquire('key')
        await lease.release()
      }
      const [own, theirs]: [number[], number[]] = [[], []]
      for (let i = 0; i < WARM_UP + PAIRS; i += 1) {
        const start = performance.now()
        await pair()
        const middle = performance.now()
        await pairOf(plain, 'key')
        if (i < WARM_UP) continue
        own.push(middle - start)
        theirs.push(performance.now() - middle)
      }
      await locks.close()
      const [pairMs, plainMs] = [percentile(own, 50), percentile(theirs, 50)]
      return { pairMs: [pairMs], plainMs: [plainMs], timesPlain: [pairMs / plainMs] }
    }),
  )
}
