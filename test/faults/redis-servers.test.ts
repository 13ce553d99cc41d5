import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Cluster, Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { survivors } from '../servers/process-tree.ts'
import { redisCommand } from '../servers/redis-command.ts'
import { removeKeys } from '../servers/redis-keys.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { freshClusterPrefix } from '../servers/shared-redis-cluster.ts'
import { freshPrefix } from '../servers/shared-redis.ts'

const endings: (() => unknown)[] = []

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

function connect(url: string): Redis {
  const client = new Redis(url, { retryStrategy: null })
  client.on('error', () => {})
  endings.push(() => client.disconnect())
  return client
}

async function folderOf(server: RedisServer): Promise<string> {
  const [, folder] = (await server.command('config', 'get', 'dir')) as [string, string]
  return folder
}

describe('the shared Redis', () => {
  it('gives each caller a prefix of its own', async () => {
    const [one, other] = [freshPrefix(), freshPrefix()]
    expect(one.url).toBe(other.url)
    await redisCommand(one.url, 'set', `${one.prefix}:key`, 'mine')
    expect(await redisCommand(other.url, 'get', `${other.prefix}:key`)).toBeNull()
  })

  it('is rid of the keys with a prefix, and of no others', async () => {
    const [one, other] = [freshPrefix(), freshPrefix()]
    const client = connect(one.url)
    for (const prefix of [one.prefix, `before:${one.prefix}`, other.prefix]) {
      for (let index = 0; index < 1_500; index += 1) void client.set(`${prefix}:${index}`, 'value')
    }
    await client.ping()
    await removeKeys(one.url, one.prefix)
    expect(await client.exists(`${one.prefix}:0`, `before:${one.prefix}:1499`)).toBe(0)
    expect(await client.exists(`${other.prefix}:0`, `${other.prefix}:1499`)).toBe(2)
  })
})

describe('the shared Redis Cluster', () => {
  it('gives each caller a prefix of its own', async () => {
    const [one, other] = [freshClusterPrefix(), freshClusterPrefix()]
    const client = new Cluster([...one.urls])
    endings.push(() => client.disconnect())
    await Promise.all(Array.from({ length: 30 }, (_, index) => client.set(`${one.prefix}:${index}`, 'mine')))
    expect(await client.get(`${other.prefix}:0`)).toBeNull()
  })
})

describe('a Redis of one test', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedis({ settings: { maxmemory: '64mb', 'maxmemory-policy': 'noeviction' } })
  })
  afterAll(() => server.stop())

  it('listens on this machine only, takes settings, and is not root', async () => {
    expect(await server.command('config', 'get', 'bind')).toEqual(['bind', '127.0.0.1'])
    expect(await server.command('config', 'get', 'maxmemory')).toEqual(['maxmemory', '67108864'])
    expect(await server.command('config', 'get', 'save')).toEqual(['save', ''])
    // Written by the server itself.
    await server.command('config', 'rewrite')
    expect(statSync(join(await folderOf(server), 'redis.conf')).uid).not.toBe(0)
  })

  it('keeps its port and nothing else when it restarts', async () => {
    const { pid } = server
    const client = connect(server.url)
    await client.set('key', 'value')
    const cut = once(client, 'close')
    await server.restart()
    await cut
    expect(server.pid).not.toBe(pid)
    expect(await connect(server.url).get('key')).toBeNull()
  })

  it('stands still while it is paused, and then goes on as if nothing had been', async () => {
    const client = connect(server.url)
    await client.set('kept', 'value')
    await server.pause()
    expect(server.running).toBe(false)
    let answered = false
    const answer = client.get('kept').finally(() => (answered = true))
    const newcomer = new Redis(server.url, { lazyConnect: true, commandTimeout: 300, retryStrategy: null })
    newcomer.on('error', () => {})
    endings.push(() => newcomer.disconnect())
    await expect(newcomer.get('kept')).rejects.toThrow('timed out')
    expect(answered).toBe(false)
    server.resume()
    expect(await answer).toBe('value')
    expect(server.running).toBe(true)
  })

  it('is killed at once, says so, and can be started again', async () => {
    const { pid } = server
    await server.kill()
    expect(survivors([pid])).toEqual([])
    expect(server.running).toBe(false)
    await expect(server.command('ping')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    await server.start()
    expect(await server.command('ping')).toBe('PONG')
  })
})

describe('several Redises', () => {
  it.each(['restarted', 'killed'])('keep what they are told to when they are %s', async (how) => {
    const server = await startRedis({ settings: { appendonly: 'yes', appendfsync: 'always' } })
    endings.push(() => server.stop())
    await server.command('set', 'key', 'value')
    if (how === 'restarted') await server.restart()
    else await server.kill().then(() => server.start())
    expect(await server.command('get', 'key')).toBe('value')
  })

  it('have the password of their settings in their URL', async () => {
    const server = await startRedis({ settings: { requirepass: 'p@ss/w:rd' } })
    endings.push(() => server.stop())
    expect(await server.command('ping')).toBe('PONG')
    await expect(redisCommand(`redis://${server.host}:${server.port}`, 'ping')).rejects.toThrow('NOAUTH')
  })

  it.each(['running', 'paused', 'killed'])('leave nothing behind when stopped while %s', async (state) => {
    const server = await startRedis()
    const [{ pid }, folder] = [server, await folderOf(server)]
    if (state === 'paused') await server.pause()
    if (state === 'killed') await server.kill()
    await server.stop()
    expect(survivors([pid])).toEqual([])
    expect(existsSync(folder)).toBe(false)
  })

  it.each(['running', 'paused'])(
    'do not outlive a process that is killed while they are %s',
    async (state) => {
      const owner = fileURLToPath(new URL('../servers/fixtures/redis-owner.ts', import.meta.url))
      const child = fork(owner, [state], { execArgv: ['--import', 'tsx', '--no-warnings'] })
      const [{ pid, folder }] = (await once(child, 'message')) as [{ pid: number; folder: string }]
      expect(survivors([pid])).toHaveLength(1)
      child.kill('SIGKILL')
      await expect.poll(() => survivors([pid]), { timeout: 20_000 }).toEqual([])
      await expect.poll(() => existsSync(folder), { timeout: 20_000 }).toBe(false)
    },
  )

  it('show the log of one that does not start', async () => {
    await expect(startRedis({ settings: { maxmemory: 'nonsense' } })).rejects.toThrow(
      /ended instead of starting[^]*'maxmemory nonsense'/,
    )
  })
})
