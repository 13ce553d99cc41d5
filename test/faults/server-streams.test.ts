import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import type { ServerAction } from '../support/server-child.ts'
import { atEnd, until } from '../support/stage.ts'
import { TestProcess } from '../support/test-process.ts'

const CHILD = fileURLToPath(new URL('../support/server-child.ts', import.meta.url))
const TOKEN = 'a-token-of-more-than-32-characters'
const MB = 1024 * 1024

async function serving(): Promise<{ child: TestProcess<ServerAction>; url: URL }> {
  const child = await TestProcess.fork<ServerAction>(CHILD)
  atEnd(() => child.end())
  return { child, url: new URL(await child.call<string>('serve', TOKEN)) }
}

class Reader {
  readonly socket: Socket
  bytes = 0
  closed = false

  constructor({ port, host }: URL) {
    this.socket = connect(Number(port), '127.0.0.1')
    this.socket.on('data', (chunk) => (this.bytes += chunk.byteLength))
    this.socket.on('error', () => {})
    this.socket.on('close', () => (this.closed = true))
    this.socket.write(`GET /api/events HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`)
    atEnd(() => this.socket.destroy())
  }
}

it('a thousand open event streams cost bounded memory', async () => {
  const { child, url } = await serving()
  await child.call('hold', 200)
  const before = await child.call<{ used: number; resident: number }>('memory')
  const readers = Array.from({ length: 1000 }, () => new Reader(url))
  await until('all have what is held', () => readers.every(({ bytes }) => bytes > 40_000))
  const told = readers[0]!.bytes
  for (let round = 0; round < 3; round += 1) await child.call('churn', 50)
  await until('all have heard of more', () => readers.every(({ bytes }) => bytes > told + 20_000))
  const after = await child.call<{ used: number; resident: number }>('memory')
  // About 18 and 55.
  expect((after.used - before.used) / MB).toBeLessThan(40)
  expect((after.resident - before.resident) / MB).toBeLessThan(200)

  const refused = await fetch(new URL('api/events', url), { headers: { authorization: `Bearer ${TOKEN}` } })
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10'])
  for (const { socket } of readers) socket.destroy()
  await until('their places are free again', async () => {
    const stop = new AbortController()
    const { status } = await fetch(new URL('api/events', url), {
      headers: { authorization: `Bearer ${TOKEN}` },
      signal: stop.signal,
    })
    stop.abort()
    return status === 200
  })
})

it('readers that take nothing do not make the server keep what they do not read', async () => {
  const { child, url } = await serving()
  // 6 MB for each of them.
  await child.call('hold', 15_000)
  const first = new Reader(url)
  await until('the first has it all', () => first.bytes > 4_000_000)
  const before = await child.call<{ used: number }>('memory')
  const stuck = Array.from({ length: 50 }, () => {
    const reader = new Reader(url)
    reader.socket.pause()
    return reader
  })
  await until('they are connected', () => stuck.every(({ socket }) => !socket.connecting))
  // Asked after them, and answered.
  const last = new Reader(url)
  await until('the last has it all', () => last.bytes > 4_000_000)
  const after = await child.call<{ used: number }>('memory')
  expect((after.used - before.used) / MB).toBeLessThan(30)
})
