import { describe, expect, it } from 'vitest'
import { createLocks } from '../../src/locks.ts'
import { listenLocks, lockServer } from '../../src/server/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { ORIGIN, type Problem, serverStage, TOKEN } from './support/server-stage.ts'

const READS = ['/api/locks', '/api/locks/a', '/api/stats', '/api/events', '/metrics']
const OPEN = ['/health/live', '/health/ready', '/', '/openapi.json']
const from = (remoteAddress: string): object => ({ incoming: { socket: { remoteAddress } } })

describe('without a token', () => {
  it('answers this machine, and frees nothing', async () => {
    const { locks, ask } = serverStage({ open: true })
    await locks.acquire('a')
    const { grant } = (await locks.inspect('a'))!
    for (const url of [ORIGIN, 'http://localhost:7373', 'http://[::1]:7373'])
      expect(await ask('/api/locks', { url, headers: { origin: null } })).toMatchObject({ status: 200 })
    expect(await ask(`/api/locks/a?grant=${grant}`, { method: 'DELETE' })).toMatchObject({
      status: 403,
      body: { code: 'READ_ONLY' },
    })
    expect((await ask('/api/stats')).body).toMatchObject({ server: { mayRelease: false, readOnly: false } })
    expect(await locks.inspect('a')).not.toBeNull()
  })

  it('refuses whoever is not on this machine, where the runtime tells', async () => {
    const { ask } = serverStage({ open: true })
    const bun = { requestIP: () => ({ address: '10.0.0.1' }) }
    for (const env of [
      from('10.0.0.1'),
      from('::ffff:10.0.0.1'),
      { remoteAddr: { hostname: 'fe80::1' } },
      bun,
      // As Hono has it too, next to bindings of the program's own.
      { server: bun },
      { server: from('10.0.0.1') },
    ])
      expect(await ask('/api/locks', { env })).toMatchObject({ status: 403 })
    for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])
      expect(await ask('/api/locks', { env: from(address) })).toMatchObject({ status: 200 })
  })

  it('refuses what a proxy passes on, under whatever name', async () => {
    const { ask } = serverStage({ open: true })
    for (const name of [
      'x-forwarded-for',
      'X-Forwarded-Proto',
      'forwarded',
      'via',
      'x-real-ip',
      'True-Client-IP',
    ])
      expect(
        await ask('/api/locks', { headers: { [name]: '10.0.0.1' }, env: from('127.0.0.1') }),
      ).toMatchObject({
        status: 403,
      })
  })

  it('does not listen on another address than that of this machine', async () => {
    const locks = createLocks(memoryStore(), { logger: null })
    for (const host of ['0.0.0.0', '::', '10.0.0.1', 'example.com'])
      await expect(listenLocks(locks, { host, port: 0 })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    await locks.close()
  })

  it('a client that is closed before it listens is told so', async () => {
    const locks = createLocks(memoryStore(), { logger: null })
    const listening = listenLocks(locks, { port: 0 })
    await Promise.all([locks.close(), expect(listening).rejects.toMatchObject({ code: 'CLOSED' })])
  })
})

describe('with a token', () => {
  it('shows nothing of the store to those who have none, or a wrong one', async () => {
    const { ask } = serverStage()
    const wrong = [
      null,
      'Bearer',
      'Bearer ',
      `Bearer ${TOKEN}x`,
      `Bearer ${TOKEN.slice(1)}`,
      TOKEN,
      `Basic ${TOKEN}`,
    ]
    for (const path of READS) {
      for (const authorization of wrong) {
        const { status, headers, body } = await ask<Problem>(path, { headers: { authorization } })
        expect([path, authorization, [401, 429].includes(status)]).toEqual([path, authorization, true])
        expect(JSON.stringify(body)).not.toContain(TOKEN)
        if (status === 401) expect(headers.get('www-authenticate')).toBe('Bearer realm="holdfast"')
      }
    }
  })

  it('answers health, the page and its description to anyone, and says little', async () => {
    const { ask } = serverStage()
    for (const path of OPEN)
      expect(await ask(path, { headers: { authorization: null } })).toMatchObject({ status: 200 })
    const probe = { url: 'http://10.1.2.3:7373', headers: { authorization: null, origin: null } }
    expect((await ask('/health/live', probe)).body).toEqual({ status: 'live' })
    expect((await ask('/health/ready', probe)).body).toEqual({ status: 'ready' })
  })

  it('lets nobody guess on: many wrong tokens get 429, and the right one still gets in', async () => {
    const { ask, time } = serverStage()
    const guess = (): Promise<{ status: number }> =>
      ask('/api/locks', { headers: { authorization: `Bearer ${'guess'.repeat(8)}` } })
    const before: number[] = []
    for (let index = 0; index < 30; index += 1) before.push((await guess()).status)
    expect(before.filter((status) => status === 401)).toHaveLength(20)
    expect(before.at(-1)).toBe(429)
    expect(await ask('/api/locks')).toMatchObject({ status: 200 })
    await time.advance(10_000)
    expect((await guess()).status).toBe(401)
  })

  it('knows who has which', async () => {
    const tokens = { ann: 'ann-has-this-token-and-nobody-else', bob: 'bob-has-this-token-and-nobody-else' }
    const { locks, ask, audited } = serverStage({ token: tokens })
    for (const [who, token] of Object.entries(tokens)) {
      await locks.acquire(who)
      const { grant } = (await locks.inspect(who))!
      const headers = { authorization: `bearer ${token}` }
      expect(await ask(`/api/locks/${who}?grant=${grant}`, { method: 'DELETE', headers })).toMatchObject({
        status: 200,
      })
    }
    expect(audited.map(({ who }) => who)).toEqual(['ann', 'ann', 'bob', 'bob'])
  })

  it.each<[string, unknown]>([
    ['short', 'x'.repeat(31)],
    ['long', 'x'.repeat(1025)],
    ['with a space', 'x '.repeat(20)],
    ['no text', 7],
    ['none', {}],
    ['a short one among others', { ann: 'x'.repeat(40), bob: 'secret' }],
    ['the same twice', { ann: 'x'.repeat(40), bob: 'x'.repeat(40) }],
    ['nameless', { '': 'x'.repeat(40) }],
  ])('refuses a token that is %s, and does not show it', (_, token) => {
    const locks = createLocks(memoryStore(), { logger: null })
    const make = (): unknown => lockServer(locks, { token: token as string })
    expect(make).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
    expect(make).not.toThrow(/x{31}|secret/)
  })
})

describe('DNS rebinding and other pages', () => {
  it('is not served under a name that is not its own', async () => {
    const { ask } = serverStage({
      hosts: ['locks.example.com', 'other.example.com:8443', 'tls.example.com:443'],
    })
    const status = async (url: string, host?: string): Promise<number> =>
      (await ask('/api/locks', { url, headers: { origin: null, ...(host ? { host } : {}) } })).status
    expect(await status('http://evil.example')).toBe(403)
    expect(await status('http://127.0.0.1.evil.example')).toBe(403)
    expect(await status('http://localhost.evil.example:7373')).toBe(403)
    expect(await status(ORIGIN, 'evil.example')).toBe(403)
    expect(await status('http://evil.example', '127.0.0.1:7373')).toBe(403)
    expect(await status(ORIGIN, 'user@127.0.0.1')).toBe(400)
    expect(await status('http://locks.example.com')).toBe(200)
    expect(await status('http://LOCKS.example.com:81')).toBe(200)
    expect(await status('http://other.example.com')).toBe(403)
    expect(await status('http://other.example.com:8443')).toBe(200)
    // Through a proxy that speaks TLS: browsers leave its usual port out.
    expect(await status('http://tls.example.com')).toBe(200)
    // A number cannot be rebound; without a token it is still none of ours.
    expect(await status('http://10.0.0.1:7373')).toBe(200)
    const open = serverStage({ open: true })
    expect(await open.ask('/api/locks', { url: 'http://10.0.0.1' })).toMatchObject({ status: 403 })
    expect(await open.ask('/', { url: 'http://0.0.0.0', headers: { origin: null } })).toMatchObject({
      status: 403,
    })
  })

  it('frees nothing for a page of another origin, or without one', async () => {
    const { locks, ask, audited } = serverStage()
    await locks.acquire('a')
    const { grant } = (await locks.inspect('a'))!
    const wrong = [
      null,
      'null',
      'http://evil.example',
      'http://127.0.0.1',
      'http://127.0.0.1:7374',
      'x',
      'file://',
    ]
    for (const origin of wrong) {
      const { status } = await ask(`/api/locks/a?grant=${grant}`, { method: 'DELETE', headers: { origin } })
      expect([origin, status]).toEqual([origin, 403])
    }
    expect(await locks.inspect('a')).not.toBeNull()
    expect(audited).toEqual([])
  })

  it('takes the Origin of a proxy that speaks TLS for it', async () => {
    const { locks, ask } = serverStage({ hosts: ['locks.example.com'] })
    await locks.acquire('a')
    const { grant } = (await locks.inspect('a'))!
    const headers = { origin: 'https://locks.example.com', host: 'locks.example.com:443' }
    const path = `/api/locks/a?grant=${grant}`
    expect(await ask(path, { method: 'DELETE', headers, url: 'http://locks.example.com' })).toMatchObject({
      status: 200,
    })
  })

  it('shows nothing to a page of another origin, and has no CORS', async () => {
    const { ask } = serverStage({ open: true })
    const headers = { origin: 'http://evil.example' }
    for (const path of READS) expect(await ask(path, { headers })).toMatchObject({ status: 403 })
    // As an image: without an Origin, but browsers say where it comes from.
    for (const site of ['cross-site', 'same-site'])
      for (const path of READS)
        expect(await ask(path, { headers: { origin: null, 'sec-fetch-site': site } })).toMatchObject({
          status: 403,
        })
    for (const site of ['same-origin', 'none'])
      expect(await ask('/api/locks', { headers: { origin: null, 'sec-fetch-site': site } })).toMatchObject({
        status: 200,
      })
    expect(await ask('/', { headers: { origin: null, 'sec-fetch-site': 'cross-site' } })).toMatchObject({
      status: 200,
    })
    for (const method of ['GET', 'OPTIONS']) {
      const names = [...(await ask('/api/locks', { method, headers })).headers.keys()]
      expect(names.filter((name) => name.startsWith('access-control'))).toEqual([])
    }
  })

  it('puts a strict policy on every answer', async () => {
    const { ask } = serverStage()
    for (const path of [...OPEN, ...READS.slice(0, 3), '/nothing', '/api/locks?limit=x']) {
      const { headers } = await ask(path)
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; script-src 'self';.*frame-ancestors 'none'$/,
      )
      expect(headers.get('content-security-policy')).not.toContain('unsafe')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('cache-control')).toBe(path === '/' ? headers.get('cache-control') : 'no-store')
    }
  })
})

describe('read-only', () => {
  it('frees nothing, with a token or without', async () => {
    for (const open of [true, false]) {
      const { locks, ask } = serverStage({ readOnly: true, open })
      await locks.acquire('a')
      const { grant } = (await locks.inspect('a'))!
      expect(await ask(`/api/locks/a?grant=${grant}`, { method: 'DELETE' })).toMatchObject({
        status: 403,
        body: { code: 'READ_ONLY' },
      })
      expect((await ask('/api/stats')).body).toMatchObject({ server: { mayRelease: false, readOnly: true } })
      expect(await locks.inspect('a')).not.toBeNull()
    }
  })
})

describe('limits', () => {
  it('takes no body and no long URL', async () => {
    const { ask } = serverStage()
    expect(await ask('/api/locks', { headers: { 'content-length': '1' } })).toMatchObject({ status: 413 })
    expect(await ask('/api/locks', { headers: { 'transfer-encoding': 'chunked' } })).toMatchObject({
      status: 413,
    })
    expect(await ask(`/api/locks?prefix=${'x'.repeat(9000)}`)).toMatchObject({ status: 414 })
  })

  it.each<[string, object]>([
    ['an unknown option', { tokens: 'x' }],
    ['readOnly', { readOnly: 'yes' }],
    ['hosts', { hosts: 'example.com' }],
    ['a host with a scheme', { hosts: ['http://example.com'], token: TOKEN }],
    ['hosts without a token', { hosts: ['example.com'] }],
    ['audit', { audit: 'file' }],
    ['observe', { observe: 'never' }],
  ])('refuses %s', (_, options) => {
    const locks = createLocks(memoryStore(), { logger: null })
    expect(() => lockServer(locks, options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  })
})
