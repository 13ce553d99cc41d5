/** One of the two processes that lead in turn. */
import { setTimeout } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { Election } from '../../src/index.ts'
import { holdfast, importRedis } from '../built.ts'
import { serve } from '../crew.ts'
import { clock, type Stay } from '../stay.ts'

/** Long enough for the other to stand again: it pauses, waits some round trips out of courtesy, and asks. */
const LEAD_MS = 100
const PAUSE_MS = 10

/** `to`: when it resigned. */
export interface Led extends Stay {
  readonly pid: number
}

const [url = '', prefix = '', count = ''] = process.argv.slice(2)
const { redisStore } = await importRedis()
const client = new Redis(url)
const locks = holdfast.createLocks(redisStore(client, { prefix }))

/** Until both have led so many times: whoever is first goes on, so that the other has someone to follow. */
async function run(times: number): Promise<Led[]> {
  const terms: Led[] = []
  let done = (): void => {}
  const enough = new Promise<void>((resolve) => (done = resolve))
  const election: Election = locks.elect(
    'leader',
    async () => {
      const from = clock()
      await setTimeout(LEAD_MS)
      terms.push({ from, to: clock(), pid: process.pid })
      if (terms.length === times) done()
      await election.resign()
    },
    { pause: PAUSE_MS },
  )
  await enough
  await election.stop()
  return terms
}

const end = async (): Promise<void> => {
  await locks.close()
  await client.quit()
}
serve({ 'warm up': () => run(5), measure: () => run(Number(count)) }, end)
