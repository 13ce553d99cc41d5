import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Hono } from 'hono'
import { mount } from 'hono/mount'
import { describe, expect, it } from 'vitest'
import { Assets } from '../../src/server/assets.ts'
import type { LockDetailJson, LockPageJson, StatsJson } from '../../src/server/index.ts'
import { hostileKeys, RESERVED_NAMES } from '../../src/testing/hostile-keys.ts'
import { ORIGIN, type Problem, serverStage, TOKEN } from './support/server-stage.ts'

const names = (page: LockPageJson): string[] => page.locks.map(({ key }) => key)

describe('GET /api/locks', () => {
  it('shows what is held, by whom and why', async () => {
    const { locks, ask } = serverStage()
    const { token } = await locks.acquire('a', { context: { run: 17 }, lease: '20s' })
    const { status, body } = await ask<LockPageJson>('/api/locks')
    expect(status).toBe(200)
    expect(body).toEqual({
      locks: [
        {
          key: 'a',
          grant: Number(token / 1024n),
          token: String(token),
          service: 'one',
          instance: 'one',
          context: '{"run":17}',
          since: 1_700_000_001_000,
          heldMs: expect.any(Number),
          leaseMs: 20_000,
          remainingMs: 20_000,
          wanted: false,
        },
      ],
      next: null,
    })
  })

  it('goes page by page, and filters by prefix, service and wanted', async () => {
    const { locks, other, time, ask } = serverStage()
    const two = other()
    await locks.acquire(['job:1', 'job:2', 'job:3', 'x'])
    await two.acquire(['job:4', 'y'])
    const waiting = two.acquire('job:2')
    await time.settle()

    const found: string[] = []
    let after: string | null = ''
    while (after !== null) {
      const { body }: { body: LockPageJson } = await ask(
        `/api/locks?limit=2&after=${encodeURIComponent(after)}`,
      )
      expect(body.locks.length).toBeLessThanOrEqual(2)
      found.push(...names(body))
      after = body.next
    }
    expect(found.sort()).toEqual(['job:1', 'job:2', 'job:3', 'job:4', 'x', 'y'])
    expect(names((await ask<LockPageJson>('/api/locks?prefix=job:')).body)).toHaveLength(4)
    expect(names((await ask<LockPageJson>('/api/locks?service=two')).body).sort()).toEqual(['job:4', 'y'])
    expect(names((await ask<LockPageJson>('/api/locks?wanted=true')).body)).toEqual(['job:2'])
    expect(names((await ask<LockPageJson>('/api/locks?wanted=false&service=one&prefix=job')).body)).toEqual([
      'job:1',
      'job:3',
    ])
    waiting.catch(() => {})
    await locks.close()
    await two.close()
  })

  it('gives a page without a match, and where to go on, instead of reading the whole store', async () => {
    const { locks, store, ask } = serverStage()
    await locks.acquire(Array.from({ length: 100 }, (_, index) => `k${index}`))
    const before = store.count('list')
    const { body } = await ask<LockPageJson>('/api/locks?service=nobody&limit=2')
    expect([names(body), typeof body.next, store.count('list') - before]).toEqual([[], 'string', 10])
  })

  it.each([
    'limit=0',
    'limit=1001',
    'limit=1e3',
    'limit=',
    'limit=1&limit=2',
    'wanted=yes',
    'colour=red',
    'prefix=%ff',
    'prefix=%',
  ])('refuses ?%s', async (search) => {
    const { status, body } = await serverStage().ask<Problem>(`/api/locks?${search}`)
    expect([status, body.code]).toEqual([400, 'INVALID_REQUEST'])
  })
})

describe('GET /api/locks/{key}', () => {
  it('finds every key that there can be, in the path or as ?key=', async () => {
    const { locks, ask } = serverStage()
    const keys = [...hostileKeys('k'), ...RESERVED_NAMES, 'a/b', '/', '?', '#', '%2F', '%', '+', ' ']
    await locks.acquire(keys)
    for (const key of new Set(keys)) {
      for (const path of [
        `/api/locks/${encodeURIComponent(key)}`,
        `/api/locks?key=${encodeURIComponent(key)}`,
      ]) {
        const { status, body } = await ask<LockDetailJson>(path)
        expect([path, status, body.lock?.key]).toEqual([path, 200, key])
      }
    }
  })

  it('finds . and .. by ?key=, since they cannot stand in a path', async () => {
    const { locks, ask } = serverStage()
    await locks.acquire(['.', '..'])
    for (const key of ['.', '..'])
      expect((await ask<LockDetailJson>(`/api/locks?key=${key}`)).body.lock).toMatchObject({ key })
  })

  it('says null of a key that nobody holds', async () => {
    expect((await serverStage().ask('/api/locks/free')).body).toEqual({
      key: 'free',
      lock: null,
      history: [],
    })
  })

  it.each(['/api/locks/a%00b', '/api/locks?key=', `/api/locks/${'x'.repeat(513)}`, '/api/locks/%0a'])(
    'refuses a key that is none: %s',
    async (path) => {
      const { status, body } = await serverStage().ask<Problem>(path)
      expect([status, body.code]).toEqual([400, 'INVALID_LOCK_KEY'])
    },
  )
})

describe('DELETE /api/locks/{key}', () => {
  it('frees the grant that was shown', async () => {
    const { locks, ask } = serverStage()
    await locks.acquire('a')
    const { grant } = (await locks.inspect('a'))!
    const { status, body } = await ask('/api/locks/a?grant=' + grant, { method: 'DELETE' })
    expect([status, body]).toMatchObject([200, { released: { key: 'a', grant } }])
    expect(await locks.inspect('a')).toBeNull()
  })

  it('frees nothing by a stale click: 409 if the key has moved on, 404 if nobody holds it', async () => {
    const { locks, ask } = serverStage()
    const first = await locks.acquire('a')
    const { grant } = (await locks.inspect('a'))!
    await first.release()
    const path = `/api/locks/a?grant=${grant}`
    expect(await ask(path, { method: 'DELETE' })).toMatchObject({ status: 404, body: { code: 'NOT_HELD' } })
    await locks.acquire('a')
    expect(await ask(path, { method: 'DELETE' })).toMatchObject({ status: 409, body: { code: 'MOVED_ON' } })
    expect(await locks.inspect('a')).not.toBeNull()
  })

  it.each([
    '',
    '?grant=',
    '?grant=0',
    '?grant=-1',
    '?grant=x',
    '?grant=9007199254740993',
    '?grant=1&grant=2',
  ])('needs a grant: %j is none', async (search) => {
    const { locks, ask, audited } = serverStage()
    await locks.acquire('a')
    const { status } = await ask(`/api/locks/a${search}`, { method: 'DELETE' })
    expect(status).toBe(400)
    expect(await locks.inspect('a')).not.toBeNull()
    expect(audited).toEqual([])
  })

  it('takes the key as ?key= too', async () => {
    const { locks, ask } = serverStage()
    await locks.acquire('..')
    const { grant } = (await locks.inspect('..'))!
    const path = `/api/locks?key=..&grant=${grant}`
    expect(await ask(path, { method: 'DELETE' })).toMatchObject({ status: 200 })
    expect(await ask('/api/locks', { method: 'DELETE' })).toMatchObject({ status: 400 })
  })
})

describe('the other routes', () => {
  it('gives the statistics of its own client, the store and itself', async () => {
    const { locks, ask, time } = serverStage()
    await locks.acquire('a')
    await time.advance(5000)
    const { body } = await ask<StatsJson>('/api/stats')
    expect(body).toMatchObject({
      stats: { requests: 1, granted: 1, held: 1 },
      client: { store: 'trial', service: 'one', instance: 'one' },
      store: { ok: true, latencyMs: 0, error: null },
      alerts: [],
      server: { upMs: 5000, mayRelease: true, readOnly: false, limited: null },
    })
  })

  it('is alive while the store is down, and not ready; it comes back by itself', async () => {
    const { store, ask, time } = serverStage()
    expect(await ask('/health/ready')).toMatchObject({ status: 200, body: { status: 'ready' } })
    store.mood.list = 'fail'
    await time.advance(2000)
    const down = await ask('/health/ready')
    expect(down).toMatchObject({ status: 503, body: { code: 'STORE_UNAVAILABLE' } })
    expect(down.headers.get('retry-after')).toBe('2')
    expect(await ask('/health/live')).toMatchObject({ status: 200 })
    expect(await ask('/api/locks')).toMatchObject({ status: 503, body: { code: 'STORE_UNAVAILABLE' } })
    expect(await ask('/api/stats')).toMatchObject({ status: 200, body: { store: { ok: false } } })
    store.mood.list = 'work'
    await time.advance(2000)
    expect(await ask('/health/ready')).toMatchObject({ status: 200 })
    expect(await ask('/api/locks')).toMatchObject({ status: 200 })
  })

  it('asks the store once for a crowd that wants to know how it is', async () => {
    const { store, ask } = serverStage()
    const before = store.count('list')
    await Promise.all(Array.from({ length: 500 }, () => ask('/health/ready')))
    expect(store.count('list') - before).toBe(1)
  })

  it('answers 405 with Allow to another method, and 404 to another path', async () => {
    const { ask } = serverStage()
    const wrong = await ask<Problem>('/api/locks', { method: 'POST' })
    expect([wrong.status, wrong.headers.get('allow'), wrong.body.code]).toEqual([
      405,
      'GET, DELETE',
      'METHOD_NOT_ALLOWED',
    ])
    for (const path of [
      '/nothing',
      '/api',
      '/api/locks/',
      '/assets/../../package.json',
      '/assets/%2e%2e%2fx',
    ])
      expect([path, (await ask<Problem>(path)).body.code]).toEqual([path, 'NOT_FOUND'])
  })

  it('answers HEAD without a body, and opens no stream for it', async () => {
    const { ask, time } = serverStage()
    expect(await ask('/api/locks', { method: 'HEAD' })).toMatchObject({ status: 200, body: '' })
    expect(await ask('/api/events', { method: 'HEAD' })).toMatchObject({ status: 405 })
    await time.settle()
    expect(time.timers).toBe(0)
  })

  it('ends with its client, and then answers 503', async () => {
    const { locks, ask, stream, time } = serverStage()
    const reader = await stream()
    await locks.close()
    await time.settle()
    expect(reader.ended).toBe(true)
    expect(await ask('/api/locks')).toMatchObject({ status: 503, body: { code: 'CLOSED' } })
    expect(time.timers).toBe(0)
  })
})

describe('under a path of another application', () => {
  it('finds keys, frees them, and knows where the request comes from', async () => {
    const { locks, server, audited } = serverStage()
    const app = new Hono<{ Bindings: object }>()
    app.all('/tools/locks/*', mount(server))
    const key = 'a/b %2F ü'
    await locks.acquire(key)
    const { grant } = (await locks.inspect(key))!
    const headers = { authorization: `Bearer ${TOKEN}`, origin: ORIGIN }
    const url = `${ORIGIN}/tools/locks/api/locks/${encodeURIComponent(key)}`
    const shown = (await (await app.request(url, { headers })).json()) as LockDetailJson
    expect(shown.lock).toMatchObject({ key, grant })
    const env = { incoming: { socket: { remoteAddress: '127.0.0.9' } } }
    const freed = await app.request(`${url}?grant=${grant}`, { method: 'DELETE', headers }, env)
    expect([freed.status, await locks.inspect(key)]).toEqual([200, null])
    expect(audited.map(({ peer }) => peer)).toEqual(['127.0.0.9', '127.0.0.9'])
    for (const path of ['', '/', '/health/live']) {
      const { status } = await app.request(`${ORIGIN}/tools/locks${path}`)
      expect([path, status]).toEqual([path, 200])
    }
  })
})

describe('the files of the dashboard', () => {
  it('are served by their names, and none but those', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-assets-'))
    try {
      const assets = new Assets(`${folder}/`)
      expect(await assets.index().text()).toContain('npm run build')
      mkdirSync(join(folder, 'assets'))
      writeFileSync(join(folder, 'index.html'), '<p>')
      writeFileSync(join(folder, 'assets/a-1.js'), 'let a')
      writeFileSync(join(folder, 'assets/notes.txt'), 'secret')
      const page = assets.index()
      expect([
        page.headers.get('content-type'),
        page.headers.get('cache-control'),
        await page.text(),
      ]).toEqual(['text/html; charset=utf-8', 'no-cache', '<p>'])
      const script = assets.asset('a-1.js')!
      expect([script.headers.get('content-type'), await script.text()]).toEqual([
        'text/javascript; charset=utf-8',
        'let a',
      ])
      for (const name of ['notes.txt', '../index.html', 'none.js', '', '__proto__'])
        expect([name, assets.asset(name)]).toEqual([name, null])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe('/metrics', () => {
  it('is in the format of Prometheus, and escapes what a service is called', async () => {
    const { locks, ask } = serverStage({}, { service: 'a"b\\c' })
    const lease = await locks.acquire('a')
    await lease.release()
    const { body, headers } = await ask<string>('/metrics')
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    const own = 'store="trial",service="a\\"b\\\\c"'
    expect(body).toContain(`\nholdfast_acquisitions_total{${own},outcome="granted"} 1\n`)
    expect(body).toContain(`\nholdfast_hold_duration_bucket{${own},le="+Inf"} 1\n`)
    expect(body).toContain(`\nholdfast_hold_duration_count{${own}} 1\n`)
    const line = /^(# (HELP|TYPE) holdfast_\w+ .+|holdfast_\w+\{(\w+="([^"\\]|\\.)*",?)+\} [-+.\deE]+)$/
    for (const each of body.trimEnd().split('\n')) expect(each).toMatch(line)
  })

  it('sums the buckets of a histogram up', async () => {
    const { locks, ask } = serverStage()
    for (let index = 0; index < 5; index += 1) await (await locks.acquire(`k${index}`)).release()
    const { body } = await ask<string>('/metrics')
    const counts = [...body.matchAll(/^holdfast_hold_duration_bucket\{.*\} (\d+)$/gm)].map(([, n]) =>
      Number(n),
    )
    expect(counts.length).toBeGreaterThan(10)
    expect(counts).toEqual(counts.toSorted((a, b) => a - b))
    expect(counts.at(-1)).toBe(5)
  })
})
