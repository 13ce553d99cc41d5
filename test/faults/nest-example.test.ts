import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { json } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { createLocks, type Locks } from '../../src/locks.ts'
import { atLast, until } from '../support/stage.ts'

const root = resolve(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'holdfast-nest-'))
atLast(() => rmSync(folder, { recursive: true, force: true }))

let shops: readonly Shop[]
let locks: Locks

interface Shop {
  readonly child: ChildProcess
  readonly url: string
}

beforeAll(async () => {
  const program = await compiled()
  shops = await Promise.all([openShop(program), openShop(program)])
  locks = createLocks(`sqlite:${join(folder, 'locks.db')}`, { logger: null })
  atLast(() => locks.close())
})

/** As those who use Nest do it. Each process starts in a third of the time that it takes with tsx. */
async function compiled(): Promise<string> {
  const out = join(folder, 'app')
  mkdirSync(out)
  symlinkSync(join(root, 'node_modules'), join(out, 'node_modules'))
  writeFileSync(join(out, 'package.json'), JSON.stringify({ type: 'module' }))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  // Types are checked by `npm run types`.
  const options = ['--noEmit', 'false', '--noCheck', '--rootDir', root, '--outDir', out]
  await promisify(execFile)(process.execPath, [tsc, '-p', join(root, 'examples/nest'), ...options])
  return join(out, 'examples/nest/index.js')
}

async function openShop(program: string): Promise<Shop> {
  const env = { ...process.env, DATA: folder, PORT: '0' }
  const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  atLast(() => {
    child.kill('SIGKILL')
    return ended
  })
  for await (const line of createInterface(child.stdout)) {
    const url = /^listening on (.*)$/.exec(line)?.[1]
    if (url) return { child, url }
  }
  throw new Error('the shop has ended before it was open')
}

interface Reply {
  readonly status: number | undefined
  readonly body: unknown
}

/** On a connection of its own: Nest does not end before one that is kept alive. */
async function send(shop: number, method: string, path: string, body?: object): Promise<Reply> {
  const headers = { 'content-type': 'application/json' }
  const sent = request(`${shops[shop]?.url}${path}`, { method, headers, agent: false })
  sent.end(body && JSON.stringify(body))
  const [response] = await once(sent, 'response')
  return { status: response.statusCode, body: await json(response) }
}

const restock = (shop: number, sku: string, quantity: number): Promise<Reply> =>
  send(shop, 'PUT', `/stock/${sku}`, { quantity })

const order = (shop: number, sku: string, paymentMs: number): Promise<Reply> =>
  send(shop, 'POST', '/orders', { sku, quantity: 1, paymentMs })

describe('two processes of the shop on Nest', () => {
  it('never sell more than there is', async () => {
    expect(await restock(0, 'mug', 10)).toEqual({ status: 200, body: { left: 10 } })
    const orders = await Promise.all(Array.from({ length: 30 }, (_, i) => order(i % 2, 'mug', 5)))
    const left = orders
      .filter(({ status }) => status === 201)
      .map(({ body }) => (body as { left: number }).left)
    expect(left.sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(orders.filter(({ status }) => status === 409)).toHaveLength(20)
    expect(await send(1, 'GET', '/stock/mug')).toEqual({ status: 200, body: { left: 0 } })
  })

  it('answer 503 when the lock is not to be had', async () => {
    await using lease = await locks.acquire('stock:cup')
    expect(lease.held).toBe(true)
    const body = { statusCode: 503, message: 'LOCK_ACQUIRE_TIMEOUT' }
    expect(await restock(1, 'cup', 1)).toEqual({ status: 503, body })
  })

  it('say that their locks are well', async () => {
    expect(await send(0, 'GET', '/health')).toMatchObject({
      status: 200,
      body: { status: 'ok', details: { locks: { status: 'up', store: 'sqlite' } } },
    })
  })

  it('end at SIGTERM with 0, after the orders under way, and leave nothing held to the other', async () => {
    await restock(0, 'pot', 3)
    const first = order(0, 'pot', 2000)
    await until('the order', () => locks.inspect('stock:pot'))
    const second = order(0, 'pot', 0)
    // It was sent before this, and so it is waiting for the lock by now.
    await send(0, 'GET', '/health')
    const { child } = shops[0]!
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    expect(await first).toEqual({ status: 201, body: { left: 2 } })
    expect(await second).toEqual({ status: 201, body: { left: 1 } })
    expect(await ended).toEqual([0, null])
    expect((await locks.list()).locks).toEqual([])
    expect(await order(1, 'pot', 0)).toEqual({ status: 201, body: { left: 0 } })
  })
})
