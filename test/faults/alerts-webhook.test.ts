import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it, vi } from 'vitest'
import { type Alert, watchLocks } from '../../src/alerts/index.ts'
import { type Environment, systemEnvironment } from '../../src/environment.ts'
import { Webhook } from '../../src/alerts/webhook.ts'
import { createLocks, type Locks } from '../../src/locks.ts'
import { memoryStore } from '../../src/stores/memory.ts'

const SECRET = 'correct horse battery staple'

/** Of one attempt. Not sped up, or nobody could tell what has cut it. */
const ATTEMPT_MS = 10_000

/** Time is scarce: a second of the watcher is 50 ms. */
const environment: Environment = {
  ...systemEnvironment,
  now: () => performance.now() * 20,
  setTimer: (ms, run, background) =>
    systemEnvironment.setTimer(ms === ATTEMPT_MS ? ms : ms / 20, run, background),
}

interface Received extends Alert {
  readonly at: string
  readonly service: string
}

let server: Server | undefined
let locks: Locks | undefined
const errors: string[] = []

afterEach(async () => {
  await locks?.close()
  server?.closeAllConnections()
  server?.close()
  server = undefined
  errors.length = 0
})

/** As docs/alerts.md shows it. */
function isGenuine(header: string, body: string, now = Date.now()): boolean {
  const [, t = '', v1 = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? []
  if (Math.abs(now / 1000 - Number(t)) > 300) return false
  const expected = createHmac('sha256', SECRET).update(`${t}.${body}`).digest()
  return v1 !== '' && timingSafeEqual(Buffer.from(v1, 'hex'), expected)
}

async function listen(
  answer: (response: ServerResponse, times: number) => void,
): Promise<{ url: string; got: Received[] }> {
  const got: Received[] = []
  let times = 0
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = Buffer.concat(await request.toArray()).toString()
    expect(request.method).toBe('POST')
    expect(request.headers['content-type']).toBe('application/json')
    expect(isGenuine(String(request.headers['x-holdfast-signature']), body)).toBe(true)
    expect(isGenuine(String(request.headers['x-holdfast-signature']), `${body} `)).toBe(false)
    got.push(JSON.parse(body) as Received)
    answer(response, (times += 1))
  }
  server = createServer((request, response) => void receive(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?key=hidden`, got }
}

/** A client with one key that is held too long. */
async function watch(url: string): Promise<Locks> {
  const client = createLocks(memoryStore(), { service: 'orders', logger: null, environment })
  locks = client
  client.on('error', ({ error }) => errors.push(error.message))
  watchLocks(client, {
    on: { heldTooLong: '1s' },
    every: '1s',
    webhook: { url, secret: SECRET },
    environment,
  })
  await client.acquire('k')
  return client
}

it('is told when an incident begins, and at close when it is over, signed', async () => {
  const { url, got } = await listen((response) => response.writeHead(204).end())
  const client = await watch(url)
  await vi.waitFor(() => expect(got).toHaveLength(1), 5000)
  await client.close()
  expect(got.map(({ kind, state, key, service }) => [kind, state, key, service])).toEqual([
    ['held-too-long', 'on', 'k', 'orders'],
    ['held-too-long', 'over', 'k', 'orders'],
  ])
  expect(got[0]!.incident).toBe(got[1]!.incident)
  expect(new Date(got[0]!.at).getTime()).toBeGreaterThan(Date.now() - 60_000)
  expect(errors).toEqual([])
})

it('is told again after an answer of 500, in the order of what happened', async () => {
  const { url, got } = await listen((response, times) =>
    response.writeHead(times === 1 ? 500 : 200).end('thanks'),
  )
  const client = await watch(url)
  await vi.waitFor(() => expect(got).toHaveLength(2), 8000)
  await client.close()
  expect(got.map(({ state }) => state)).toEqual(['on', 'on', 'over'])
  expect(errors).toEqual([])
})

it.each([400, 302])(
  'is not told again after an answer of %d, which is reported without path and secret',
  async (status) => {
    const { url, got } = await listen((response) =>
      response.writeHead(status, { location: '/elsewhere' }).end(),
    )
    const client = await watch(url)
    await vi.waitFor(() => expect(errors).toHaveLength(1), 5000)
    await client.close()
    expect(got.map(({ state }) => state)).toEqual(['on', 'over'])
    expect(errors).toEqual([
      expect.stringMatching(/^webhook of alerts at http:\/\/127\.0\.0\.1:\d+: it answered/),
    ])
  },
)

it('that is dead or never answers holds up neither locks nor the close for long', async () => {
  const { url, got } = await listen(() => {})
  const client = await watch(url)
  await vi.waitFor(() => expect(got).toHaveLength(1), 5000)
  expect(await client.using('other', async () => 'ran')).toBe('ran')
  const begun = performance.now()
  await client.close()
  expect(performance.now() - begun).toBeLessThan(2000)

  server!.closeAllConnections()
  await new Promise((resolve) => server!.close(resolve))
  const next = await watch(url)
  await vi.waitFor(() => expect(next.stats().held).toBe(1))
  await new Promise<void>((resolve) => next.on('alert', () => resolve()))
  const again = performance.now()
  await next.close()
  expect(performance.now() - again).toBeLessThan(2000)
  expect(errors.at(-1)).toMatch(/it does not take alerts/)
})

it('keeps a bounded number of alerts while it is not reached, the newest, and says that some are dropped', async () => {
  let isUp = false
  const { url, got } = await listen((response) => response.writeHead(isUp ? 200 : 503).end())
  const webhook = new Webhook({ url, secret: SECRET }, environment, ({ message }) => errors.push(message))
  for (let n = 0; n < 150; n += 1) webhook.send({ n })
  await vi.waitFor(() => expect(got.length).toBeGreaterThan(1), 5000)
  const tries = got.length
  isUp = true
  await vi.waitFor(() => expect(got.at(-1)).toEqual({ n: 149 }), 5000)
  const numbers = got.slice(tries - 1).map((alert) => (alert as unknown as { n: number }).n)
  expect(new Set(numbers).size).toBe(100)
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
  expect(errors).toEqual([expect.stringMatching(/more than 100 alerts wait/)])
  await webhook.close()
})
