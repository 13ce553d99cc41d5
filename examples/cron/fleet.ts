import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'

export const COUNT = 10
/** As the pattern of scheduler.ts has it. */
const TICK_MS = 6_000
/** For the last of them to hear of it in time. */
const NOTICE_MS = 1_500

/** Times in milliseconds since 1970. */
export interface Shift {
  readonly from: number
  readonly to: number
  /** Whoever runs at that tick is killed in the middle of it. */
  readonly killAt: number
}

/** What was written down in a tick: who ran, and who found that another did. */
export interface Tick {
  readonly ran: readonly string[]
  readonly skipped: readonly string[]
}

interface Place {
  /** Where the locks are. */
  readonly url: string
  /** The file that the schedulers write to. */
  readonly diary: string
}

/** Ten schedulers, for so many ticks. Whoever runs in the last but one is killed. */
export async function runFleet(program: string, { url, diary }: Place, ticks: number): Promise<Tick[]> {
  const children = Array.from({ length: COUNT }, (_, i) => fork(program, [url, diary, String(i)]))
  try {
    await Promise.all(children.map(ready))
    const from = Math.ceil((Date.now() + NOTICE_MS) / TICK_MS) * TICK_MS
    const to = from + ticks * TICK_MS
    const shift: Shift = { from, to, killAt: to - 2 * TICK_MS }
    const ended = children.map((child) => once(child, 'exit'))
    for (const child of children) child.send(shift)
    await Promise.all(ended)
    return read(diary, from)
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
}

async function ready(child: ChildProcess): Promise<void> {
  const early = once(child, 'exit').then(([code]) => {
    throw new Error(`a scheduler ended before it was ready: ${String(code)}`)
  })
  await Promise.race([once(child, 'message'), early])
}

/** Tick by tick; one without a note is not there. */
function read(diary: string, from: number): Tick[] {
  const ticks: { ran: string[]; skipped: string[] }[] = []
  for (const line of readFileSync(diary, 'utf8').trim().split('\n')) {
    const [time, name = '', what] = line.split(' ')
    const tick = (ticks[Math.floor((Number(time) - from) / TICK_MS)] ??= { ran: [], skipped: [] })
    tick[what === 'ran' ? 'ran' : 'skipped'].push(name)
  }
  return ticks
}
