import { passBaton } from '../baton.ts'
import { afterPauses, inWrites } from '../handover.ts'
import { withFile } from '../sqlite/file.ts'
import { openAlike } from '../sqlite/plain.ts'
import type { Samples } from '../throughput.ts'

const TURNS_EACH = 120
const PAUSES = { pauseMs: 25, count: 100 }
/** How long before it becomes free one must have asked for it to have waited for it. */
const IN_LINE_MS = 5
const FILE = new URL('../sqlite/handover-process.ts', import.meta.url)

/**
 * From the moment when one gives a key back to the moment when the other has it: a transaction, the word of the file
 * system that the log has changed, a look, and another transaction.
 */
export function handover(): Promise<Samples> {
  return withFile(async (file) => {
    const passed = await passBaton(FILE, [file, String(TURNS_EACH)], IN_LINE_MS)
    const writeMs = await transaction(`${file}.trips`)
    return inWrites(
      passed.map((ms) => ms * 1000),
      writeMs * 1000,
    )
  })
}

async function transaction(file: string): Promise<number> {
  const db = await openAlike(file)
  db.exec('create table trips (id integer primary key, count integer not null)')
  db.exec('insert into trips values (1, 0)')
  const trip = db.prepare('update trips set count = count + 1 where id = 1')
  const ms = await afterPauses(() => trip.run(), PAUSES)
  db.close()
  return ms
}
