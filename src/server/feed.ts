import type { Environment, Timer } from '../environment.ts'
import { EventStream, type Snapshot } from './event-stream.ts'
import type { LockJson, StreamJson } from './wire.ts'

/** What can be resumed from: that many messages, and no more bytes than this. */
const MOST_MESSAGES = 1000
const MOST_BYTES = 16 * 1024 * 1024
const BEAT_MS = 15_000
/** Locks in one message. */
const PAGE = 500
/** New streams share a snapshot for a moment; those who have not read one when three newer ones are there begin anew. */
const SHARED_MS = 1000
const MOST_SNAPSHOTS = 4

/** The messages of `/api/events`, each made once for all who read. Its memory does not grow with the number of readers. */
export class Feed {
  readonly #env: Environment
  readonly #version: string
  /** Names this server: an id of another one means nothing here. */
  readonly #life: string
  readonly #log: Uint8Array[] = []
  #oldest = 1
  #bytes = 0
  readonly #streams = new Set<EventStream>()
  #snapshots: (Snapshot & { readonly at: number })[] = []
  /** Null while there is none. */
  #timer: Timer = null
  /** The last word on the store, for those who come later. */
  #outage: Uint8Array | null = null

  constructor(env: Environment, version: string) {
    this.#env = env
    this.#version = version
    this.#life = env.newId()
  }

  get size(): number {
    return this.#streams.size
  }

  get oldest(): number {
    return this.#oldest
  }

  message(number: number): Uint8Array | null {
    return this.#log[number - this.#oldest] ?? null
  }

  publish<E extends keyof StreamJson>(name: E, data: StreamJson[E]): void {
    const message = encode(name, data, this.#id(this.#next))
    this.#log.push(message)
    this.#bytes += message.byteLength
    while (this.#log.length > MOST_MESSAGES || (this.#bytes > MOST_BYTES && this.#log.length > 1)) {
      this.#bytes -= this.#log.shift()?.byteLength ?? 0
      this.#oldest += 1
    }
    for (const stream of this.#streams) stream.advance()
  }

  /** The store did not answer, or does again. Also for those who wait to be told what is held. */
  store(state: StreamJson['store']): void {
    this.publish('store', state)
    this.#outage = state.ok ? null : encode('store', state)
    if (!this.#outage) return
    for (const stream of this.#streams) if (stream.waits) stream.say(this.#outage)
  }

  /** `lastId`: where its reader was before. `onEnd` runs once, whoever ends it. */
  open(lastId: string | null, onEnd: () => void): EventStream {
    const next = this.#resumed(lastId)
    const first = next === null ? [encode('hello', { version: this.#version })] : []
    // One that resumes has it in the log.
    if (next === null && this.#outage) first.push(this.#outage)
    const stream = new EventStream(this, { first, next }, () => {
      this.#streams.delete(stream)
      if (this.#streams.size === 0) this.#rest()
      onEnd()
    })
    this.#streams.add(stream)
    this.#timer ??= this.#env.setTimer(BEAT_MS, () => this.#beat(), true)
    return stream
  }

  /** Those who wait for it get all that is held now. */
  tell(locks: () => readonly LockJson[]): void {
    const waiting = [...this.#streams].filter((stream) => stream.waits)
    if (waiting.length === 0) return
    const snapshot = this.#fresh() ?? this.#snapshotOf(locks())
    for (const stream of waiting) stream.begin(snapshot)
  }

  close(): void {
    for (const stream of [...this.#streams]) stream.end()
    this.#rest()
  }

  get #next(): number {
    return this.#oldest + this.#log.length
  }

  #id(number: number): string {
    return `${this.#life}.${number}`
  }

  #resumed(lastId: string | null): number | null {
    const [, life, number] = /^(.{1,64})\.(\d{1,15})$/.exec(lastId ?? '') ?? []
    const next = Number(number) + 1
    return life === this.#life && next >= this.#oldest && next <= this.#next ? next : null
  }

  #fresh(): Snapshot | null {
    const last = this.#snapshots.at(-1)
    const isFresh = last && this.#env.now() - last.at < SHARED_MS && last.next >= this.#oldest
    return isFresh ? last : null
  }

  #snapshotOf(locks: readonly LockJson[]): Snapshot {
    const pages: Uint8Array[] = []
    for (let from = 0; from === 0 || from < locks.length; from += PAGE) {
      const held = locks.slice(from, from + PAGE)
      const isLast = from + PAGE >= locks.length
      // Only the last has an id: who has not read all of them begins anew.
      const id = isLast ? this.#id(this.#next - 1) : undefined
      pages.push(encode('locks', { all: from === 0, held, freed: [], renewed: [] }, id))
    }
    const snapshot = { pages, next: this.#next, at: this.#env.now() }
    this.#snapshots.push(snapshot)
    const [old, ...rest] = this.#snapshots
    if (old && rest.length >= MOST_SNAPSHOTS) {
      old.pages = []
      this.#snapshots = rest
    }
    return snapshot
  }

  /** Peers that are gone are found by it, and those who read nothing any more are let go. */
  #beat(): void {
    this.#timer = this.#env.setTimer(BEAT_MS, () => this.#beat(), true)
    for (const stream of [...this.#streams]) if (!stream.beat(COMMENT)) stream.end()
  }

  #rest(): void {
    if (this.#timer !== null) this.#env.clearTimer(this.#timer)
    this.#timer = null
    this.#snapshots = []
  }
}

const COMMENT = Buffer.from(':\n\n')

// JSON has no line end of its own, whatever a key or a context has in it.
function encode<E extends keyof StreamJson>(name: E, data: StreamJson[E], id?: string): Uint8Array {
  return Buffer.from(
    `${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`,
  )
}
