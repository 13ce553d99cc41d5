import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeError } from '../../src/errors.ts'
import { arenaOf, type StoreName } from './arenas/index.ts'
import { examine, type Examined } from './check.ts'
import { Findings } from './checks/findings.ts'
import { type Figures, figuresOf, sumOf } from './figures.ts'
import { type Entry, readHistory } from './history.ts'
import { SHORTEST_ROUND_MS } from './options.ts'
import { playRound } from './round.ts'
import type { Result } from './table.ts'
import { timeline } from './timeline.ts'
import type { Violation } from './violation.ts'

export interface RunOptions {
  readonly minutes: number
  /** Minutes that a round has at most. */
  readonly round: number
  readonly seed: number
  readonly workers: number
  readonly rate: number
  readonly keep: string | undefined
}

const SHOWN = 10

export async function runStore(store: StoreName, options: RunOptions): Promise<Result> {
  const { minutes, workers, rate, keep } = options
  const roundMs = options.round * 60_000
  const openArena = await arenaOf(store)
  const figures: Figures[] = []
  let total = 0
  for (
    let seed = options.seed, left = minutes * 60_000;
    left >= SHORTEST_ROUND_MS;
    seed += 1, left -= roundMs
  ) {
    const ms = Math.min(roundMs, left)
    const round = { store, seed, minutes: ms / 60_000, workers, rate }
    await playRound({ openArena, seed, ms, workers, rate }, async (folder, failure) => {
      const { entries, violations, figures: examined } = judged(folder)
      const found = [...failed(failure, entries), ...violations, ...idleness(entries)]
      const own = figuresOf(entries, round.minutes, examined)
      figures.push(own)
      total += found.length
      const { asks, grants } = own
      const faults = Object.values(own.faults).reduce((sum, times) => sum + times, 0)
      const verdict = found.length === 0 ? 'right' : `${found.length} VIOLATIONS`
      console.log(`${store} seed ${seed}: ${asks} asks, ${grants} grants, ${faults} faults: ${verdict}`)
      if (found.length > 0 || keep !== undefined) keepRound({ ...round, keep, entries, found, folder })
    })
  }
  return { store, violations: total, ...sumOf(figures) }
}

/** A history that nobody can make sense of is wrong too, and is kept as it is. */
function judged(folder: string): Examined & { readonly entries: readonly Entry[] } {
  try {
    const entries = readHistory(folder)
    return { entries, ...examine(entries) }
  } catch (error) {
    const findings = new Findings()
    findings.fail('round', `the history cannot be read: ${describeError(error)}`, {})
    return { entries: [], violations: findings.violations, figures: findings.figures }
  }
}

/** What it saw until then is judged too: that may be why. */
function failed(failure: unknown, entries: readonly Entry[]): Violation[] {
  if (failure === null) return []
  const causes: string[] = []
  for (let one: unknown = failure; one !== undefined; one = one instanceof Error ? one.cause : undefined)
    causes.push(describeError(one))
  const at = entries.at(-1)?.at ?? 0
  const message = `the round failed: ${causes.join(', by ')}`
  return [{ guarantee: 'round', message, key: null, from: at, to: at, workers: [] }]
}

/** A store that is back, and clients that do not find it: all would be refused, and nothing else be wrong. */
function idleness(entries: readonly Entry[]): Violation[] {
  const from = entries.find(({ is }) => is === 'calm')?.at ?? 0
  if (entries.some(({ is, at }) => is === 'granted' && at > from)) return []
  const message = 'nothing was granted after the last fault'
  return [{ guarantee: 'G7', message, key: null, from, to: entries.at(-1)?.at ?? from, workers: [] }]
}

interface Kept extends Omit<RunOptions, 'keep' | 'round'> {
  readonly store: StoreName
  readonly keep: string | undefined
  readonly entries: readonly Entry[]
  readonly found: readonly Violation[]
  /** Where it is now. */
  readonly folder: string
}

function keepRound({ store, seed, minutes, workers, rate, keep, entries, found, folder }: Kept): void {
  const options = `--minutes ${minutes} --round ${minutes} --workers ${workers} --rate ${rate}`
  const command = `npm run torture -- --store ${store} --seed ${seed} ${options}`
  const parent = keep ?? mkdtempSync(join(tmpdir(), 'holdfast-torture-failed-'))
  const place = join(parent, `${store}-${seed}`)
  mkdirSync(parent, { recursive: true })
  cpSync(folder, place, { recursive: true })
  const messages = found.map(({ guarantee, message }) => `${guarantee}: ${message}`)
  writeFileSync(join(place, 'verdict.txt'), `${[command, '', ...messages].join('\n')}\n`)
  writeFileSync(join(place, 'timeline.html'), timeline(entries, [...found]))
  if (found.length === 0) return
  console.error(messages.slice(0, SHOWN).join('\n'))
  if (messages.length > SHOWN) console.error(`and ${messages.length - SHOWN} more`)
  console.error(`history, timeline.html and server logs: ${place}\nagain: ${command}`)
}
