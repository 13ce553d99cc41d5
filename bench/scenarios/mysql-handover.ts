import { passBaton } from '../baton.ts'
import { afterPauses, inWrites } from '../handover.ts'
import { onServer, withDatabase } from '../mariadb/server.ts'
import type { Samples } from '../throughput.ts'

const TURNS_EACH = 40
const PAUSES = { pauseMs: 150, count: 40 }
/** How long before it becomes free one must have asked for it to have waited for it. */
const IN_LINE_MS = 10
const FILE = new URL('../mariadb/handover-process.ts', import.meta.url)

/** From the moment when one gives a key back to the moment when the other has it, who can only ask now and then. */
export function handover(): Promise<Samples> {
  return withDatabase(async (url) => {
    const passed = await passBaton(FILE, [url, String(TURNS_EACH)], IN_LINE_MS)
    return inWrites(passed, await durableWrite(url))
  })
}

function durableWrite(url: string): Promise<number> {
  return onServer(url, async (pool) => {
    await pool.query('create table trips (id integer primary key, count integer not null)')
    await pool.query('insert into trips values (1, 0)')
    return afterPauses(() => pool.execute('update trips set count = count + 1 where id = 1'), PAUSES)
  })
}
