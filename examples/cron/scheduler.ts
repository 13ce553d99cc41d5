/** One process of the service. It has the schedule that all the others have, and a clock that is off by its own bit. */
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { Cron } from 'croner'
import { createLocks } from '../../src/index.ts'
import type { Shift } from './fleet.ts'

const [url = '', diary = '', name = ''] = process.argv.slice(2)
const locks = createLocks(url, { service: 'reports', instance: name })

const report = locks.lockable(writeReport, {
  key: 'report',
  wait: 0,
  lease: '3s', // if its runner dies it stays taken for that long: less than from tick to tick
  atLeast: '2.5s', // although the job is quick it stays taken for that long: more than the clocks differ
  onFail: 'null',
  on: ['contention'], // a store that is down is an error all the same
})

async function writeReport(tick: number): Promise<'ran'> {
  note(tick, 'ran')
  if (tick >= killAt && tick < killAt + 1_000) process.kill(process.pid, 'SIGKILL')
  return 'ran'
}

function note(tick: number, what: string): void {
  appendFileSync(diary, `${tick} ${name} ${what}\n`)
}

await locks.health()
process.send?.('ready')
const [{ from, to, killAt }] = (await once(process, 'message')) as [Shift]
const times = { startAt: new Date(from), stopAt: new Date(to) }

const cron = new Cron('*/6 * * * * *', { ...times, catch: console.error }, async () => {
  const tick = cron.currentRun()?.getTime() ?? 0
  await setTimeout(Number(name) * 20)
  if ((await report(tick)) === null) note(tick, 'skipped')
  if (cron.nextRun() === null) await locks.close()
})
