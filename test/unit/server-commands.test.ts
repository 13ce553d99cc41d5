import { createServer, type Server } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { statsCommand } from '../../src/cli/stats.ts'
import { listenLocks } from '../../src/server/index.ts'
import { holdfast, Paper, type Printed, stage } from './support/cli-stage.ts'
import { TOKEN } from './support/server-stage.ts'

const endings: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of endings.splice(0)) await end()
})

async function stats(args: readonly string[], token?: string): Promise<Printed> {
  return holdfast(['stats', ...args], token === undefined ? {} : { HOLDFAST_SERVER_TOKEN: token })
}

/** Answers everything with this. */
async function answering(status: number, body: string): Promise<string> {
  const server: Server = createServer((_, response) => response.writeHead(status).end(body))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  endings.push(async () => void server.close())
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`
}

describe('stats --url', () => {
  it('shows the numbers of a server', async () => {
    const { locks } = stage()
    const { url, close } = await listenLocks(locks, { port: 0, token: TOKEN })
    endings.push(close)
    await locks.acquire('pay\u{202e}ment')
    await (await locks.acquire('b')).release()
    const { code, out, err } = await stats(['--url', url], TOKEN)
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^process {4}shop till-1, holdfast \S+, serving for 0\.\ds$/m)
    expect(out).toMatch(/^store {6}memory answers within/m)
    expect(out).toMatch(/^requests {3}2: 2 granted, 0 timed out, 0 aborted, 0 failed$/m)
    expect(out).toMatch(/^hold +1 /m)
    expect(out).toMatch(/^pay\\u\{202e\}ment +1/m)
    expect(out.endsWith('no alert is on\n')).toBe(true)
    const { out: json } = await stats(['--json', '--url', url.slice(0, -1)], TOKEN)
    expect(JSON.parse(json)).toMatchObject({ stats: { requests: 2 }, client: { service: 'shop' } })
  })

  it('says that the token is missing or wrong, and exits with 78', async () => {
    const { locks } = stage()
    const { url, close } = await listenLocks(locks, { port: 0, token: TOKEN })
    endings.push(close)
    expect(await stats(['--url', url])).toMatchObject({
      code: 78,
      err: expect.stringContaining('show the token'),
    })
    expect(await stats(['--url', url], 'wrong')).toMatchObject({
      code: 78,
      err: expect.stringContaining('the token is wrong'),
    })
  })

  it.each<[string, number, string]>([
    ['HTML', 200, '<p>'],
    ['other JSON', 200, '{"stats":{}}'],
    ['null', 200, 'null'],
    ['an error', 500, 'no'],
    ['a redirect', 302, ''],
    ['too much', 200, 'x'.repeat(5_000_000)],
  ])('exits with 69 if it gets %s', async (_, status, body) => {
    const { code, err } = await stats(['--url', await answering(status, body)])
    expect([code, err.trim().split('\n').length]).toEqual([69, 1])
  })

  it('shows nothing of a server that wants to draw on the terminal', async () => {
    const { locks } = stage()
    const { url, close } = await listenLocks(locks, { port: 0, token: TOKEN })
    endings.push(close)
    const { out } = await stats(['--json', '--url', url], TOKEN)
    const good = JSON.parse(out) as Record<string, Record<string, unknown>>
    for (const [part, name] of [
      ['stats', 'held'],
      ['stats', 'handedOff'],
      ['stats', 'wait'],
      ['stats', 'busiest'],
      ['store', 'latencyMs'],
      ['server', 'upMs'],
    ] as const) {
      const body = JSON.stringify({ ...good, [part]: { ...good[part], [name]: ['\u{1b}[2Jgone'] } })
      const hostile = await stats(['--url', await answering(200, body)])
      expect([name, hostile.code, hostile.out]).toEqual([name, 69, ''])
    }
    expect((await stats(['--url', await answering(200, JSON.stringify(good))])).code).toBe(0)
  })

  it('exits with 78 if the token cannot be one, and does not show it', async () => {
    const { code, err } = await stats(['--url', 'http://127.0.0.1:1'], 'first-half\nsecond-half')
    expect([code, err]).toEqual([78, expect.stringContaining('HOLDFAST_SERVER_TOKEN')])
    expect(err).not.toMatch(/half/)
  })

  it('exits with 69 if nobody answers, and with 64 if it is no address', async () => {
    expect(await stats(['--url', 'http://127.0.0.1:1'])).toMatchObject({ code: 69 })
    for (const url of ['127.0.0.1:7373', 'ftp://x', '']) expect((await stats(['--url', url])).code).toBe(64)
  })
})

describe('stats', () => {
  it('shows what the store tells, and says what it cannot', async () => {
    const { locks, run } = stage()
    await locks.acquire(['a', 'b'])
    const { code, out } = await run(statsCommand, [])
    expect(code).toBe(0)
    expect(out).toMatch(/^store {6}memory answers within/m)
    expect(out).toMatch(/^held {7}2, 0 of them wanted$/m)
    expect(out).toMatch(/^shop +2 +0 +0\.\ds$/m)
    expect(out).toMatch(/^a +shop +0\.\ds$/m)
    expect(out).toContain('counted by each process: see --url')
    const { out: json } = await run(statsCommand, ['--json'])
    expect(JSON.parse(json)).toMatchObject({
      store: 'memory',
      held: 2,
      services: [{ service: 'shop', held: 2, wanted: 0 }],
      longest: [{ key: 'a' }, { key: 'b' }],
    })
  })

  it('shows a store without keys', async () => {
    expect((await stage().run(statsCommand, [])).out).toContain('held       0, 0 of them wanted\n')
  })
})

describe('serve', () => {
  const serve = (args: readonly string[], env: Record<string, string> = {}): Promise<Printed> =>
    holdfast(['serve', ...args], { HOLDFAST_STORE: 'memory:', ...env })

  it('needs a token for another address than that of this machine', async () => {
    expect(await serve(['--host', '0.0.0.0'])).toMatchObject({
      code: 64,
      err: expect.stringContaining('set HOLDFAST_SERVER_TOKEN'),
    })
  })

  it('refuses a token that is too short with 78, and does not show it', async () => {
    const { code, err } = await serve([], { HOLDFAST_SERVER_TOKEN: 'too-short' })
    expect([code, err]).toEqual([
      78,
      expect.stringContaining('configuration: HOLDFAST_SERVER_TOKEN: it has 9 characters'),
    ])
    expect(err).not.toContain('too-short')
  })

  it.each([
    ['--port', '70000'],
    ['--port', 'x'],
    ['--host', 'a b'],
    ['--open-host', 'http://x'],
    ['--audit', '/'],
    ['x'],
  ])('refuses %s %s with 64', async (...args) => {
    expect((await serve(args)).code).toBe(64)
  })

  it('exits with 78 without a store', async () => {
    const paper = new Paper()
    expect((await holdfast(['serve'], {}, paper.terminal)).code).toBe(78)
  })
})
