import { afterEach } from 'vitest'
import type { LocksOptions } from '../../../src/options.ts'
import {
  type AuditEntry,
  lockServer,
  type LockServer,
  type LockServerOptions,
} from '../../../src/server/index.ts'
import type { ProblemJson } from '../../../src/server/wire.ts'
import { type World, world } from './world.ts'

export const TOKEN = 'a-token-of-more-than-32-characters'
export const ORIGIN = 'http://127.0.0.1:7373'

export interface Answer<T = Record<string, unknown>> {
  readonly status: number
  readonly headers: Headers
  readonly body: T
}

export interface ServerStage extends World {
  readonly server: LockServer
  readonly audited: AuditEntry[]
  /** With the token and the Origin, unless told otherwise. */
  ask<T = Record<string, unknown>>(path: string, init?: Asked): Promise<Answer<T>>
  stream(init?: Asked): Promise<Stream>
}

interface Asked {
  readonly method?: string
  /** Null takes one away. */
  readonly headers?: Readonly<Record<string, string | null>>
  readonly url?: string
  readonly env?: unknown
}

const open: LockServer[] = []
afterEach(async () => {
  for (const server of open.splice(0)) await server.close()
})

/** A server in virtual time, and no socket. */
export function serverStage(
  options: LockServerOptions & { readonly open?: boolean } = {},
  client: LocksOptions & { push?: boolean } = {},
): ServerStage {
  const { open: isOpen = false, ...own } = options
  const stage = world(client)
  const audited: AuditEntry[] = []
  const server = lockServer(stage.locks, {
    ...(isOpen ? {} : { token: TOKEN }),
    audit: (entry) => void audited.push(entry),
    environment: stage.time,
    ...own,
  })
  open.push(server)
  const send = (
    path: string,
    { method = 'GET', headers = {}, url = ORIGIN, env }: Asked,
  ): Promise<Response> => {
    const all = { authorization: isOpen ? null : `Bearer ${TOKEN}`, origin: ORIGIN, ...headers }
    const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null)
    return server(new Request(url + path, { method, headers: given }), env)
  }
  return {
    ...stage,
    server,
    audited,
    async ask<T>(path: string, init: Asked = {}): Promise<Answer<T>> {
      const response = await send(path, init)
      const text = await response.text()
      const isJson = response.headers.get('content-type')?.includes('json') === true
      return {
        status: response.status,
        headers: response.headers,
        body: (isJson && text !== '' ? JSON.parse(text) : text) as T,
      }
    },
    async stream(init: Asked = {}) {
      return new Stream(await send('/api/events', init))
    },
  }
}

export type Problem = ProblemJson

export interface Message {
  readonly id: string | null
  readonly event: string
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly data: any
}

export function dataOf(messages: readonly Message[], event: string): Message['data'][] {
  return messages.filter((message) => message.event === event).map(({ data }) => data)
}

/** Reads all that comes, unless it is told to wait. */
export class Stream {
  readonly response: Response
  readonly messages: Message[] = []
  beats = 0
  ended = false
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  #rest = ''
  #reads = true

  constructor(response: Response) {
    this.response = response
    this.#reader = response.body!.getReader()
    void this.#read()
  }

  /** The messages since the last call. */
  take(): Message[] {
    return this.messages.splice(0)
  }

  pause(): void {
    this.#reads = false
  }

  go(): void {
    this.#reads = true
    void this.#read()
  }

  leave(): Promise<void> {
    return this.#reader.cancel()
  }

  async #read(): Promise<void> {
    while (this.#reads && !this.ended) {
      const { done, value } = await this.#reader.read()
      if (done) this.ended = true
      else this.#parse(Buffer.from(value).toString('utf8'))
    }
  }

  #parse(text: string): void {
    const [...parts] = (this.#rest + text).split('\n\n')
    this.#rest = parts.pop() ?? ''
    for (const part of parts) {
      const field = (name: string): string | null => {
        const line = part.split('\n').find((each) => each.startsWith(`${name}: `))
        return line?.slice(name.length + 2) ?? null
      }
      if (part.startsWith(':')) this.beats += 1
      else
        this.messages.push({
          id: field('id'),
          event: field('event') ?? '',
          data: JSON.parse(field('data') ?? 'null'),
        })
    }
  }
}
