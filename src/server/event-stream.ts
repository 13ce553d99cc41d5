/** What a stream reads from. */
export interface Source {
  /** Message `number`, null if it has not happened yet. */
  message(number: number): Uint8Array | null
  /** The oldest that is still there. */
  readonly oldest: number
}

/** What comes before the messages: all that is held, at one moment. Its pages are shared by all who read it. */
export interface Snapshot {
  /** Emptied when it is too old to be read any more. */
  pages: readonly Uint8Array[]
  /** The first message that is not in it. */
  readonly next: number
}

/** What the stream itself keeps ready for its reader; the rest stays where it is, once for all. */
const BUFFER_BYTES = 16 * 1024

/**
 * One reader of `/api/events`. It has no queue of its own: it is a place in the snapshot and then in the log, and goes
 * on when its reader takes something. One that is so slow that its place is gone is cut off, and may resume.
 */
export class EventStream {
  readonly body: ReadableStream<Uint8Array>
  readonly #source: Source
  readonly #onEnd: (stream: EventStream) => void
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #first: Uint8Array[]
  #snapshot: Snapshot | null = null
  #page = 0
  /** Null: waits for its snapshot. */
  #next: number | null
  #ended = false
  /** Whether it has moved since it was last asked. */
  #moved = true

  constructor(
    source: Source,
    start: { readonly first: readonly Uint8Array[]; readonly next: number | null },
    onEnd: (stream: EventStream) => void,
  ) {
    this.#source = source
    this.#onEnd = onEnd
    this.#first = [...start.first]
    this.#next = start.next
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => void (this.#controller = controller),
        pull: () => this.advance(),
        cancel: () => this.#over(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: BUFFER_BYTES }),
    )
  }

  get waits(): boolean {
    return this.#next === null
  }

  begin(snapshot: Snapshot): void {
    this.#snapshot = snapshot
    this.#next = snapshot.next
    this.advance()
  }

  /** For one that still waits: what is in the log does not reach it. */
  say(message: Uint8Array): void {
    this.#first.push(message)
    this.advance()
  }

  /** Hands over as much as its reader takes now. */
  advance(): void {
    while (!this.#ended) {
      if (this.#next !== null && this.#next < this.#source.oldest) return this.end()
      if ((this.#controller.desiredSize ?? 0) <= 0) return
      const chunk = this.#take()
      if (chunk === null) return
      this.#moved = true
      this.#controller.enqueue(chunk)
    }
  }

  /** A sign of life, if there is nothing else to say. False: its reader has taken nothing for that long. */
  beat(comment: Uint8Array): boolean {
    const moved = this.#moved
    this.#moved = false
    if (this.#ended) return true
    if ((this.#controller.desiredSize ?? 0) <= 0) return moved
    this.#controller.enqueue(comment)
    return true
  }

  end(): void {
    if (this.#ended) return
    this.#over()
    this.#controller.close()
  }

  #over(): void {
    // Twice if its reader goes away while the rest is still to be read.
    if (this.#ended) return
    this.#ended = true
    this.#snapshot = null
    this.#onEnd(this)
  }

  #take(): Uint8Array | null {
    const first = this.#first.shift()
    if (first) return first
    if (this.#snapshot) {
      const page = this.#snapshot.pages[this.#page]
      this.#page += 1
      if (page) return page
      const isRead = this.#page > this.#snapshot.pages.length && this.#snapshot.pages.length > 0
      this.#snapshot = null
      // It was emptied before it was read.
      if (!isRead) this.end()
      if (this.#ended) return null
    }
    if (this.#next === null) return null
    const message = this.#source.message(this.#next)
    if (message) this.#next += 1
    return message
  }
}
