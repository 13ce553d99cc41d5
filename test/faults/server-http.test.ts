import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { listenLocks, type StatsJson } from '../../src/server/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { freshPrefix } from '../servers/shared-redis.ts'
import { atEnd, locksOn, proxyTo, until } from '../support/stage.ts'

const TOKEN = 'a-token-of-more-than-32-characters'
const headers = { authorization: `Bearer ${TOKEN}` }

/** All that comes back until the other side closes. */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  socket.on('data', (chunk) => (answer += chunk.toString('latin1')))
  socket.on('error', () => {})
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.end(text, 'latin1')
  await closed
  return answer
}

describe('malformed HTTP', () => {
  const get = (line: string, ...lines: string[]): string => [line, ...lines, '', ''].join('\r\n')
  const OWN = `Authorization: Bearer ${TOKEN}`
  it.each<[string, string, RegExp]>([
    ['no request at all', 'hello\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['another protocol', '\x16\x03\x01\x02\x00\x01\x00', /^(HTTP\/1\.1 400 |$)/],
    ['HTTP/0.9', 'GET /\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['no Host', get('GET /api/locks HTTP/1.1', OWN), /^HTTP\/1\.1 400 /],
    ['a Host that is none', get('GET /api/locks HTTP/1.1', 'Host: a b', OWN), /^HTTP\/1\.1 400 /],
    [
      'two lengths',
      get('GET / HTTP/1.1', 'Host: localhost', 'Content-Length: 1', 'Content-Length: 2'),
      /^HTTP\/1\.1 400 /,
    ],
    [
      'a length and chunks',
      get(
        'DELETE /api/locks/a HTTP/1.1',
        'Host: localhost',
        OWN,
        'Content-Length: 4',
        'Transfer-Encoding: chunked',
      ),
      /^HTTP\/1\.1 400 /,
    ],
    ['a line end in a header', get('GET / HTTP/1.1', 'Host: localhost', 'X: a\rb'), /^HTTP\/1\.1 400 /],
    [
      'a header of 20 KB',
      get('GET /api/locks HTTP/1.1', 'Host: localhost', `X: ${'x'.repeat(20_000)}`),
      /^HTTP\/1\.1 431 /,
    ],
    [
      'a path of 20 KB',
      get(`GET /api/locks/${'x'.repeat(20_000)} HTTP/1.1`, 'Host: localhost'),
      /^HTTP\/1\.1 4\d\d /,
    ],
    [
      'another host in the line',
      get('GET http://evil.example/api/locks HTTP/1.1', 'Host: localhost', OWN, 'Connection: close'),
      /^HTTP\/1\.1 403 /,
    ],
    ['no path', get('GET x HTTP/1.1', 'Host: localhost', 'Connection: close'), /^HTTP\/1\.1 400 /],
    [
      'a backslash',
      get('GET /api\\locks HTTP/1.1', 'Host: localhost', 'Connection: close'),
      /^HTTP\/1\.1 4\d\d /,
    ],
    [
      'TRACE',
      get('TRACE /api/locks HTTP/1.1', 'Host: localhost', OWN, 'Connection: close'),
      /^HTTP\/1\.1 4\d\d /,
    ],
    ['CONNECT', get('CONNECT evil.example:443 HTTP/1.1', 'Host: localhost'), /^(HTTP\/1\.1 4\d\d |$)/],
    [
      'an upgrade',
      get(
        'GET /api/locks HTTP/1.1',
        'Host: localhost',
        OWN,
        'Connection: Upgrade, close',
        'Upgrade: websocket',
      ),
      /^(HTTP\/1\.1 (200|4\d\d) |$)/,
    ],
    [
      'a body',
      `${get('DELETE /api/locks/a?grant=1 HTTP/1.1', 'Host: localhost', OWN, 'Origin: http://localhost', 'Content-Length: 5')}hello`,
      /^HTTP\/1\.1 413 /,
    ],
  ])('gets a 4xx: %s', async (_, text, expected) => {
    const { url } = await listenLocks(locksOn(memoryStore()), { port: 0, token: TOKEN })
    const answer = await raw(Number(new URL(url).port), text)
    expect(answer).toMatch(expected)
    if (answer !== '' && !answer.includes(' 200 '))
      expect(answer.toLowerCase()).toContain('content-type: application/problem+json')
    expect(answer).not.toMatch(/\n\s+at |\.ts:\d+|node_modules/)
    const response = await fetch(new URL('api/locks', url), { headers })
    expect(response.status).toBe(200)
    await response.body?.cancel()
  })
})

it('leaves the globals of the process alone, and frees its port when the client is closed', async () => {
  const before = [globalThis.Request, globalThis.Response]
  const locks = locksOn(memoryStore())
  const { url } = await listenLocks(locks, { port: 0 })
  expect((await fetch(new URL('api/locks', url))).status).toBe(200)
  expect([globalThis.Request, globalThis.Response]).toEqual(before)
  const port = Number(new URL(url).port)
  const second = locksOn(memoryStore())
  await expect(listenLocks(second, { port })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringContaining('in use'),
  })
  const stream = await fetch(new URL('api/events', url))
  await locks.close()
  await stream.text().catch(() => 'cut off')
  const { close } = await listenLocks(second, { port })
  await close()
})

it('shows a store that is down as degraded, and comes back by itself', async () => {
  const { url: redis, prefix } = freshPrefix()
  const { proxy, url: through } = await proxyTo(redis)
  const locks = locksOn(redisStore(through, { prefix }), { callTimeout: '500ms' })
  await locks.acquire('a', { lease: '5m' })
  const { url, close } = await listenLocks(locks, { port: 0, token: TOKEN })
  atEnd(close)
  const status = async (path: string): Promise<number> => {
    const response = await fetch(new URL(path, url), { headers })
    await response.body?.cancel()
    return response.status
  }
  const words: string[] = []
  const stream = await fetch(new URL('api/events', url), { headers })
  const told = (async () => {
    for await (const chunk of stream.body!) words.push(Buffer.from(chunk).toString('utf8'))
  })().catch(() => {})
  await until(
    'all is well',
    async () => (await status('health/ready')) === 200 && words.join('').includes('"all":true'),
  )

  proxy.refuse()
  proxy.cut()
  await until('it is not ready', async () => (await status('health/ready')) === 503)
  expect(await status('health/live')).toBe(200)
  const list = await fetch(new URL('api/locks', url), { headers })
  expect([list.status, list.headers.get('retry-after')]).toEqual([503, '2'])
  expect(await list.json()).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  const stats = (await (await fetch(new URL('api/stats', url), { headers })).json()) as StatsJson
  expect(stats.store).toMatchObject({ ok: false, error: expect.stringContaining('redis') })
  await until('the stream says so', () => words.join('').includes('"ok":false'))

  await proxy.accept()
  await until('it is ready again', async () => (await status('health/ready')) === 200)
  expect(await status('api/locks')).toBe(200)
  await until('the stream says so', () => words.join('').includes('"ok":true'))
  await close()
  await told
})
