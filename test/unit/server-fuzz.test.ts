import fc from 'fast-check'
import { expect, it } from 'vitest'
import { hostileKeys } from '../../src/testing/hostile-keys.ts'
import { ORIGIN, serverStage, TOKEN } from './support/server-stage.ts'

const KEYS = hostileKeys('')

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    ...KEYS,
    'a',
    '.',
    '..',
    '%',
    '%2e%2e',
    '%00',
    '\0',
    '\n',
    '<script>',
    'x'.repeat(600),
    '0',
    '-1',
    '1e9',
  ),
)
/** Encoded well, badly, twice or not at all. */
const written = fc
  .tuple(text, fc.constantFrom('well', 'twice', 'not', 'latin', 'cut'))
  .map(([value, how]) => {
    const well = encodeURIComponent(value.toWellFormed())
    switch (how) {
      case 'well':
        return well
      case 'twice':
        return encodeURIComponent(well)
      case 'latin':
        return `${well}%ff%fe`
      case 'cut':
        return well.slice(0, -1)
      default:
        return value.toWellFormed()
    }
  })
const path = fc.oneof(
  written.map((key) => `/api/locks/${key}`),
  fc.constantFrom(
    '/api/locks',
    '/api/stats',
    '/api/events',
    '/metrics',
    '/health/live',
    '/health/ready',
    '/openapi.json',
    '/',
    '//',
    '/api//locks',
  ),
  fc.array(written, { maxLength: 4 }).map((parts) => `/${parts.join('/')}`),
  written.map((name) => `/assets/${name}`),
  fc.constant(`/api/locks/${'k'.repeat(10_000)}`),
)
const name = fc.constantFrom(
  'key',
  'grant',
  'why',
  'prefix',
  'service',
  'wanted',
  'after',
  'limit',
  '__proto__',
  '',
  'x',
)
const search = fc
  .array(fc.tuple(name, written), { maxLength: 4 })
  .map((pairs) => (pairs.length === 0 ? '' : `?${pairs.map(([key, value]) => `${key}=${value}`).join('&')}`))
const method = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('GET', 'DELETE') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('HEAD', 'POST', 'PUT', 'PATCH', 'OPTIONS', 'QUERY', 'PROPFIND', 'get', 'X'),
  },
)
const header = fc.oneof(
  fc.tuple(
    fc.constant('authorization'),
    fc.constantFrom(`Bearer ${TOKEN}`, 'Bearer x', 'Basic eDp4', 'Bearer', ''),
  ),
  fc.tuple(fc.constant('origin'), fc.constantFrom(ORIGIN, 'null', 'http://evil.example', 'x:', '')),
  fc.tuple(
    fc.constant('host'),
    fc.constantFrom('127.0.0.1', 'localhost:1', 'evil.example', '[::1', '@', ' ', 'a b'),
  ),
  fc.tuple(fc.constant('last-event-id'), fc.constantFrom('0', 'x.1', '9'.repeat(400), '.')),
  fc.tuple(fc.constant('content-length'), fc.constantFrom('0', '5', '-1', 'x', '99999999999')),
  fc.tuple(
    fc.constantFrom('accept', 'cookie', 'range', 'if-none-match', 'expect', 'x-forwarded-for'),
    fc.string({ maxLength: 30 }).map((value) => value.replaceAll(/[^\x20-\x7e]/g, '')),
  ),
)

it('answers 5,000 requests of any kind with what was asked for or a problem, never 500 or a stack', async () => {
  const { locks, server } = serverStage({ readOnly: false })
  await locks.acquire(KEYS.slice(0, 50))
  const faults: string[] = []
  locks.on('error', ({ error }) => faults.push(error.message))
  const statuses = new Map<number, number>()
  const rights = fc.constantFrom({ authorization: `Bearer ${TOKEN}`, origin: ORIGIN }, {})
  await fc.assert(
    fc.asyncProperty(
      method,
      path,
      search,
      rights,
      fc.array(header, { maxLength: 3 }),
      async (verb, where, query, known, given) => {
        const headers = new Headers(known)
        for (const [key, value] of given) headers.set(key, value)
        const response = await server(new Request(`${ORIGIN}${where}${query}`, { method: verb, headers }))
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
        if (response.headers.get('content-type')?.startsWith('text/event-stream'))
          return response.body?.cancel()
        const body = await response.text()
        expect(body).not.toMatch(/\n\s+at |\.ts:\d+|node_modules|node:internal/)
        expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
        if (response.ok) return
        expect(response.status).toBeGreaterThanOrEqual(400)
        expect(response.status).toBeLessThan(500)
        expect(response.headers.get('content-type')).toBe('application/problem+json')
        if (verb !== 'HEAD')
          expect(JSON.parse(body)).toMatchObject({ status: response.status, code: expect.any(String) })
      },
    ),
    { numRuns: 5000, seed: 8 },
  )
  expect(faults).toEqual([])
  // It was not one and the same answer.
  for (const status of [200, 400, 401, 403, 404, 405, 413, 414])
    expect([...statuses.keys()]).toContain(status)
}, 30_000)
