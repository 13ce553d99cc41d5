import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { etcdSource } from '../../examples/config/etcd.ts'
import { locksFromConfig } from '../../src/config/index.ts'
import type { Locks } from '../../src/locks.ts'
import { startEtcd } from '../servers/etcd.ts'

let server: Awaited<ReturnType<typeof startEtcd>>
let locks: Locks | undefined

beforeAll(async () => {
  server = await startEtcd()
})
afterAll(() => server?.stop())
afterEach(() => locks?.close())

async function leaseOf(client: Locks): Promise<number | undefined> {
  return client.using('key', async () => (await client.inspect('key'))?.leaseMs)
}

it('a configuration in etcd counts as it changes, a broken one does not, and a restart is survived', async () => {
  const put = (value: unknown): Promise<void> => server.put('holdfast/é', JSON.stringify(value))
  const source = etcdSource({ url: server.url, key: 'holdfast/é' })
  await put({ store: 'memory:', lease: '10s' })
  const client = (locks = await locksFromConfig({ source, env: {}, logger: null }))
  const errors: string[] = []
  client.on('error', ({ error }) => errors.push(error.message))
  const becomes = (leaseMs: number): Promise<void> =>
    vi.waitFor(async () => expect(await leaseOf(client)).toBe(leaseMs), { timeout: 10_000, interval: 20 })
  const held = await client.acquire('held')
  expect(await leaseOf(client)).toBe(10_000)

  await put({ store: 'memory:', lease: '20s' })
  await becomes(20_000)

  await put({ store: 'memory:', lease: 'soon' })
  await vi.waitFor(() => expect(errors).toHaveLength(1), 5000)
  await server.put('holdfast/é', '{ "lease"')
  await vi.waitFor(() => expect(errors).toHaveLength(2), 5000)
  expect(errors[0]).toContain('source: lease: give milliseconds')
  expect(errors[1]).toContain('source: it must be an object')
  expect(await leaseOf(client)).toBe(20_000)

  await server.restart()
  await put({ store: 'memory:', lease: '30s' })
  await becomes(30_000)
  expect(errors.slice(2).every((message) => message.includes('source: it '))).toBe(true)
  expect(await held.release()).toBe(true)

  const start = performance.now()
  await client.close()
  expect(performance.now() - start).toBeLessThan(2000)
})

it('the example prints each lease that etcd has for it', async () => {
  await server.put('holdfast/orders', '{ "store": "memory:", "lease": "10s" }')
  const script = resolve(import.meta.dirname, '../../examples/config/index.ts')
  const env = { ...process.env, ETCD_URL: server.url }
  const child = spawn(process.execPath, ['--import', 'tsx', script], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  try {
    expect((await lines.next()).value).toBe('a key is now kept for 10000 ms')
    await server.put('holdfast/orders', '{ "store": "memory:", "lease": "20s" }')
    expect((await lines.next()).value).toBe('a key is now kept for 20000 ms')
    child.kill('SIGINT')
    expect(await once(child, 'exit')).toEqual([0, null])
  } finally {
    child.kill('SIGKILL')
  }
})
