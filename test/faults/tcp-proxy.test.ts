import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { tcpProxy, type TcpProxy } from '../servers/tcp-proxy.ts'

/** Answers `a` with `A`, and remembers what it got. */
let server: Server
let heard: string
let served: Socket[]
let proxy: TcpProxy

beforeEach(async () => {
  heard = ''
  served = []
  server = createServer((socket) => {
    served.push(socket)
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      heard += chunk.toString()
      socket.write(chunk.toString().toUpperCase())
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  proxy = await tcpProxy((server.address() as AddressInfo).port)
})

afterEach(() => {
  proxy.close()
  for (const socket of served) socket.destroy()
  server.close()
})

interface Client {
  readonly socket: Socket
  /** All that arrived. */
  got: string
  ended: boolean
  error: (Error & { code?: string }) | undefined
}

async function client(): Promise<Client> {
  const socket = connect(proxy.port, '127.0.0.1')
  const it: Client = { socket, got: '', ended: false, error: undefined }
  socket.on('data', (chunk) => (it.got += chunk.toString()))
  socket.on('end', () => (it.ended = true))
  await once(socket, 'connect')
  socket.on('error', (error) => (it.error = error))
  return it
}

async function until(what: string, holds: () => unknown): Promise<void> {
  const end = performance.now() + 10_000
  while (!holds()) {
    if (performance.now() > end) throw new Error(`waited in vain for: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

/** Long enough for what was sent before to arrive, if it were to. */
async function afterARoundTrip(by = proxy): Promise<void> {
  const probe = connect(by.port, '127.0.0.1')
  probe.write('.')
  await once(probe, 'data')
  probe.destroy()
}

async function askAndHear(one: Client, letter: string): Promise<void> {
  one.socket.write(letter)
  await until(`the answer to ${letter}`, () => one.got.endsWith(letter.toUpperCase()))
}

describe('a TCP proxy', () => {
  it('passes everything on, and how a side ends', async () => {
    const one = await client()
    await askAndHear(one, 'a')
    expect(proxy.connections).toBe(1)
    one.socket.end()
    await until('the end to arrive and come back', () => one.ended && proxy.connections === 0)
    const other = await client()
    await askAndHear(other, 'b')
    served.at(-1)?.resetAndDestroy()
    await until('the reset to arrive', () => other.error?.code === 'ECONNRESET')
    expect(proxy.joined).toBe(2)
  })

  it('cuts both sides of every connection, and takes new ones', async () => {
    const all = await Promise.all([client(), client()])
    await until('both to be served', () => served.length === 2)
    proxy.cut()
    await until('both sides to know', () =>
      [...all.map(({ socket }) => socket), ...served].every(({ closed }) => closed),
    )
    expect(all.map(({ error }) => error?.code)).toEqual(['ECONNRESET', 'ECONNRESET'])
    await askAndHear(await client(), 'a')
  })

  it('freezes what is connected and what connects, and lets it arrive late', async () => {
    const before = await client()
    await askAndHear(before, 'a')
    const aside = await tcpProxy((server.address() as AddressInfo).port)
    proxy.freeze()
    const during = await client()
    before.socket.write('b')
    during.socket.write('c')
    before.socket.end()
    served[0]?.write('!')
    await afterARoundTrip(aside)
    expect(heard).toBe('a.')
    expect([before.got, during.got, before.ended]).toEqual(['A', '', false])
    proxy.thaw()
    await until('the late bytes', () => before.got === 'A!B' && during.got === 'C' && before.ended)
    aside.close()
  })

  it('loses replies to what is connected and what connects, and never goes on in the middle', async () => {
    const before = await client()
    await askAndHear(before, 'a')
    proxy.dropReplies()
    const during = await client()
    for (const [one, letter] of [
      [before, 'b'],
      [during, 'c'],
    ] as const) {
      one.socket.write(letter)
      await until(`${letter} to arrive`, () => heard.endsWith(letter))
    }
    proxy.thaw()
    before.socket.write('d')
    await until('what is sent later to arrive', () => heard.endsWith('d'))
    await askAndHear(await client(), 'e')
    await afterARoundTrip()
    expect([before.got, during.got]).toEqual(['A', ''])
  })

  it('strands what is connected, and serves what connects', async () => {
    const stranded = await client()
    await askAndHear(stranded, 'a')
    proxy.strand()
    stranded.socket.write('b')
    served[0]?.end('!')
    await askAndHear(await client(), 'c')
    await afterARoundTrip()
    expect(heard).toBe('ac.')
    expect([stranded.got, stranded.ended, stranded.error]).toEqual(['A', false, undefined])
    await until('only two to be left', () => proxy.connections === 2)
  })

  it('refuses new connections and keeps the others, until it accepts again', async () => {
    const one = await client()
    await askAndHear(one, 'a')
    proxy.refuse()
    await expect(client()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    await askAndHear(one, 'b')
    await proxy.accept()
    await askAndHear(await client(), 'c')
  })

  it('resets a connection whose server is not there', async () => {
    server.close()
    const one = await client()
    await until('the reset', () => one.error?.code === 'ECONNRESET')
  })

  it('delays each way, and keeps the order when the delay changes', async () => {
    const one = await client()
    await askAndHear(one, 'a')
    proxy.delay(40)
    const start = performance.now()
    await askAndHear(one, 'b')
    expect(performance.now() - start).toBeGreaterThanOrEqual(80)
    one.socket.write('c')
    await new Promise((resolve) => setImmediate(resolve))
    proxy.delay(0)
    await askAndHear(one, 'd')
    expect(one.got).toBe('ABCD')
  })
})
