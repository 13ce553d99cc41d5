import { type Signal, signal } from '@preact/signals'
import type { EventJson, StreamJson } from '../server/wire.ts'
import { ApiError, request } from './api.ts'
import { EventStreamReader, type StreamMessage } from './event-stream.ts'
import { LockTable } from './lock-table.ts'
import { refused } from './session.ts'

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 15_000
/** The server sends a sign of life more often than that; without one the connection is dead. */
const SILENCE_MS = 45_000
const EVENTS_KEPT = 1000

export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  /** `at` on the clock of `performance.now()`; `why` as far as the server said. */
  | { readonly state: 'waiting'; readonly at: number; readonly why: string }
  /** Until a token is given. */
  | { readonly state: 'locked' }

export interface SeenEvent extends EventJson {
  readonly number: number
}

export const connection: Signal<Connection> = signal({ state: 'connecting' })
/** Changed in place: `version` says when. */
export const table: LockTable = new LockTable()
/** 0 until the first word of what is held. */
export const version: Signal<number> = signal(0)
export const storeWord: Signal<StreamJson['store'] | null> = signal(null)
/** Newest first. */
export const events: Signal<readonly SeenEvent[]> = signal([])

let reader = new EventStreamReader()
let seen = 0
let eventsSeen = 0
let wake: (() => void) | null = null

/** Follows the stream for as long as the page is there. */
export async function follow(): Promise<never> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const before = seen
    const refusal = await stream()
    // It was good: a cut after that is a new one.
    if (seen > before) pause = FIRST_PAUSE_MS
    if (refusal?.status === 401) await untilToken()
    else await rest(pause * (0.75 + Math.random() / 2), refusal?.message ?? '')
  }
}

/** Ends the pause before the next try. */
export function reconnect(): void {
  wake?.()
}

/** Reads until it ends. What the server said if there was nothing to read. */
async function stream(): Promise<ApiError | null> {
  connection.value = { state: 'connecting' }
  const stop = new AbortController()
  let silence = setTimeout(() => stop.abort(), SILENCE_MS)
  try {
    const headers: Record<string, string> = { accept: 'text/event-stream' }
    if (reader.lastId !== '') headers['last-event-id'] = reader.lastId
    const { body } = await request('api/events', { headers, signal: stop.signal })
    if (!body) return null
    connection.value = { state: 'live' }
    // What was cut off in the middle of a message is sent again.
    reader = new EventStreamReader(reader.lastId)
    const pieces = body.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const { done, value } = await pieces.read()
      if (done) return null
      clearTimeout(silence)
      silence = setTimeout(() => stop.abort(), SILENCE_MS)
      for (const message of reader.read(value)) take(message)
    }
  } catch (error) {
    return error instanceof ApiError ? error : null
  } finally {
    clearTimeout(silence)
    stop.abort()
  }
}

function take({ name, data }: StreamMessage): void {
  seen += 1
  const content: unknown = JSON.parse(data)
  if (name === 'locks') {
    table.apply(content as StreamJson['locks'], performance.now())
    version.value += 1
  } else if (name === 'event') {
    eventsSeen += 1
    const event = { ...(content as EventJson), number: eventsSeen }
    events.value = [event, ...events.value.slice(0, EVENTS_KEPT - 1)]
  } else if (name === 'store') {
    storeWord.value = content as StreamJson['store']
  } else if (name === 'hello') {
    // Anew: what was before cannot be resumed from, and the store is well until told otherwise.
    reader.lastId = ''
    storeWord.value = null
  }
}

function untilToken(): Promise<void> {
  if (refused.value === null) return Promise.resolve()
  connection.value = { state: 'locked' }
  return new Promise((resolve) => {
    const stop = refused.subscribe((still) => {
      if (still !== null) return
      queueMicrotask(() => stop())
      resolve()
    })
  })
}

function rest(ms: number, why: string): Promise<void> {
  connection.value = { state: 'waiting', at: performance.now() + ms, why }
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      removeEventListener('online', done)
      wake = null
      resolve()
    }
    const timer = setTimeout(done, ms)
    addEventListener('online', done)
    wake = done
  })
}
