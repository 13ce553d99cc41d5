import type { LockRecord } from '../../src/index.ts'
import type { Crew, Worker } from './crew.ts'
import { KEYS } from './plan.ts'

export type Tone = 'plain' | 'strong' | 'faint' | 'good' | 'bad'

export interface Piece {
  readonly text: string
  readonly tone: Tone
}

export interface TakeOver {
  readonly by: Worker
  readonly from: Worker
  readonly token: bigint
}

const BAR = 6
const HEADER = ['key', 'holder', 'token', 'lease left', 'waiting', 'taken over']
const WIDTHS = [11, 10, 21, 14, 9, 10]
/** The width of the token where not all of it fits. Its end is what differs. */
const SHORT_TOKEN = 12

/** The table: what the store says about each key, and what the workers say about themselves. */
export function board(
  crew: Crew,
  locks: readonly LockRecord[],
  takeOvers: ReadonlyMap<string, TakeOver>,
  columns: number,
): Piece[][] {
  const isNarrow = columns < WIDTHS.reduce((sum, width) => sum + width)
  const widths = isNarrow ? WIDTHS.with(2, SHORT_TOKEN + 2) : WIDTHS
  const rows = KEYS.map((key): Piece[] => {
    const lock = locks.find((record) => record.key === key)
    const holder = lock && crew.called(lock.holder.instance)
    const isDead = holder?.alive === false
    // The store's record and the holder's report may be a moment apart.
    const token = holder?.key === key ? String(holder.token ?? '') : ''
    const waiting = crew.alive.filter((worker) => worker.isWaiting && worker.key === key)
    const takeOver = takeOvers.get(key)
    return [
      { text: key, tone: 'strong' },
      { text: holder?.name ?? '–', tone: isDead ? 'bad' : 'good' },
      { text: isNarrow && token ? `…${token.slice(1 - SHORT_TOKEN)}` : token, tone: 'plain' },
      { text: lock ? bar(lock) : '', tone: isDead ? 'bad' : 'plain' },
      { text: waiting.map((worker) => worker.number).join(', '), tone: 'plain' },
      { text: takeOver ? `${takeOver.by.number} from ${takeOver.from.number}` : '', tone: 'plain' },
    ]
  })
  const header = HEADER.map((text): Piece => ({ text, tone: 'faint' }))
  return [header, ...rows].map((row) =>
    row.map(({ text, tone }, i) => ({ text: text.padEnd(widths[i] ?? 0), tone })),
  )
}

function bar({ remainingMs, leaseMs }: LockRecord): string {
  const full = Math.min(BAR, Math.max(0, Math.round((remainingMs / leaseMs) * BAR)))
  return `${'■'.repeat(full)}${'·'.repeat(BAR - full)} ${seconds(remainingMs)}`
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
