import type { SimulatedProcess } from './simulated-process.ts'

export interface Event {
  time: number
  /** When it was to happen before its process was held up. */
  readonly due: number
  /** Breaks ties: what was planned first happens first. */
  readonly order: number
  /** Whose code runs; null for the server, the network and the schedule. */
  readonly process: SimulatedProcess | null
  readonly run: () => void
  cancelled: boolean
}

/** What will happen, by virtual time: a binary heap. */
export class EventQueue {
  readonly #heap: Event[] = []

  push(event: Event): void {
    const heap = this.#heap
    let index = heap.length
    heap.push(event)
    while (index > 0) {
      const parent = (index - 1) >> 1
      const above = heap[parent] as Event
      if (!isBefore(event, above)) break
      heap[index] = above
      index = parent
    }
    heap[index] = event
  }

  peek(): Event | undefined {
    return this.#heap[0]
  }

  pop(): Event | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (!first || !last || heap.length === 0) return first
    let index = 0
    for (;;) {
      let child = index * 2 + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child += 1
      const below = heap[child] as Event
      if (!isBefore(below, last)) break
      heap[index] = below
      index = child
    }
    heap[index] = last
    return first
  }
}

function isBefore(a: Event, b: Event): boolean {
  if (a.time !== b.time) return a.time < b.time
  return a.due === b.due ? a.order < b.order : a.due < b.due
}
