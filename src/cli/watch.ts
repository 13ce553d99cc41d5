import { setTimeout as sleep } from 'node:timers/promises'
import { LockError } from '../errors.ts'
import type { LockRecord } from '../store.ts'
import type { Terminal } from './command.ts'
import { explain } from './failure.ts'
import { firstToken, recordJson, recordLines } from './records.ts'
import { cut, json, painted, shown } from './text.ts'

const EVERY_MS = 1000

export interface WatchPlan {
  readonly read: () => Promise<LockRecord[]>
  readonly terminal: Terminal
  readonly asJson: boolean
  /** Resolves to false when it is enough. */
  readonly pause?: () => Promise<boolean>
}

/** Looks again and again until the process is stopped. The store must answer once; after that, an outage is told. */
export async function watchRecords(plan: WatchPlan): Promise<void> {
  const { read, terminal, asJson, pause = () => sleep(EVERY_MS, true) } = plan
  const show = terminal.isTTY && !asJson ? new Screen(terminal) : new Changes(terminal, asJson)
  show.records(await read())
  while (await pause()) {
    try {
      show.records(await read())
    } catch (error) {
      if (!(error instanceof LockError) || error.code !== 'STORE_UNAVAILABLE') throw error
      show.outage(explain(error))
    }
  }
}

/** Draws over what it has drawn before. */
class Screen {
  readonly #terminal: Terminal
  #last: readonly LockRecord[] = []

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  records(records: readonly LockRecord[]): void {
    this.#last = records
    this.#draw(`${records.length} held, every second, Ctrl-C ends`)
  }

  outage(reason: string): void {
    this.#draw(`${reason}; below is what it said last`, true)
  }

  #draw(title: string, wrong = false): void {
    const { out, colour } = this.#terminal
    // The size may have changed since the start.
    const { columns = this.#terminal.columns, rows = 24 } = out as Partial<NodeJS.WriteStream>
    const head = painted(cut(title, columns), wrong ? 'red' : 'bold', colour)
    const all = [head, '', ...recordLines(this.#last, { ...this.#terminal, columns })]
    const fitting = all.slice(0, Math.max(3, rows - 1))
    // What does not fit would scroll the title away.
    if (fitting.length < all.length)
      fitting.splice(-1, 1, `… and ${all.length - fitting.length + 1} more; see --prefix`)
    // From the top, each line cleared to its end, and then all below: nothing flickers.
    out.write(`\u{1b}[H${fitting.map((line) => `${line}\u{1b}[K\n`).join('')}\u{1b}[J`)
  }
}

/** A line for each key that is held from now on or by someone else, and for each that is not held any more. */
class Changes {
  readonly #terminal: Terminal
  readonly #asJson: boolean
  #known = new Map<string, LockRecord>()
  #told = ''

  constructor(terminal: Terminal, asJson: boolean) {
    this.#terminal = terminal
    this.#asJson = asJson
  }

  records(records: readonly LockRecord[]): void {
    this.#told = ''
    const now = new Map(records.map((record) => [record.key, record]))
    for (const [key, record] of this.#known) if (!now.has(key)) this.#tell('freed', record)
    for (const [key, record] of now)
      if (this.#known.get(key)?.grant !== record.grant) this.#tell('held', record)
    this.#known = now
  }

  outage(reason: string): void {
    if (reason !== this.#told) this.#terminal.err.write(`holdfast: ${reason}; it is asked again\n`)
    this.#told = reason
  }

  #tell(change: 'held' | 'freed', record: LockRecord): void {
    const { key, holder } = record
    const time = new Date().toISOString()
    const text = `${time} ${change.padEnd(5)} ${shown(key)} by ${shown(holder.service)} ${shown(holder.instance)}`
    const line = this.#asJson
      ? json({ time, change, ...recordJson(record) })
      : `${text} token ${firstToken(record)}`
    this.#terminal.out.write(`${line}\n`)
  }
}
