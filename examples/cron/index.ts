/**
 * Ten processes with the same schedule, and clocks that differ by up to 180 ms. At every tick one of them runs the job.
 * Whoever runs in the second tick is killed in the middle of it; the next tick is run by another one.
 *
 *     npx tsx examples/cron/index.ts
 *
 * On SQLite, in a folder of its own; `LOCKS=postgres://…` is any other store. The schedule is in scheduler.ts.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { COUNT, runFleet } from './fleet.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-cron-'))
const url = process.env.LOCKS ?? `sqlite:${join(folder, 'locks.db')}`
const scheduler = fileURLToPath(new URL('./scheduler.ts', import.meta.url))
try {
  console.log(`${COUNT} schedulers fire every six seconds`)
  const ticks = await runFleet(scheduler, { url, diary: join(folder, 'diary') }, 3)
  for (const [i, { ran, skipped }] of ticks.entries()) {
    console.log(`  tick ${i + 1}: process ${ran.join(' and ')} ran, ${skipped.length} skipped`)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
