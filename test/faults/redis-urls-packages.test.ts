import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { OwnClient } from '../../src/stores/redis/own-client.ts'
import { startRedis } from '../servers/redis.ts'
import { startRedisCluster } from '../servers/redis-cluster.ts'
import { startSentinel } from '../servers/redis-sentinel.ts'
import { Heard } from '../support/heard.ts'
import { atEnd, atLast, failureOf } from '../support/stage.ts'

const USER = fileURLToPath(new URL('fixtures/redis-url-user.ts', import.meta.url))
/** Longer than a process takes to end, and shorter than any timer of ours or of the packages would keep it. */
const EXIT_LIMIT_MS = 1000

const [server, set, cluster] = await Promise.all([startRedis(), startSentinel(), startRedisCluster()])
atLast(() => Promise.all([server.stop(), set.stop(), cluster.stop()]))
const urls = {
  server: server.url,
  sentinel: `redis+sentinel://${set.sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${set.name}`,
  cluster: `redis+cluster://127.0.0.1:${cluster.nodes[0]?.port}`,
}

/** What the process tells, and how long it then takes to end. */
async function outcomeOf(
  url: string,
  ...missing: string[]
): Promise<{ told: unknown; endMs: () => Promise<number> }> {
  const child = fork(USER, [url, missing.join(',')], { execArgv: ['--import', import.meta.resolve('tsx')] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const [told] = await Promise.race([once(child, 'message'), exited])
  const start = performance.now()
  return { told, endMs: async () => exited.then(() => performance.now() - start) }
}

describe.each(Object.entries(urls))('the URL of a %s', (kind, url) => {
  it.each([
    ['ioredis', 'redis'],
    ['redis', 'ioredis'],
  ])('is opened with %s where %s is missing', async (present, missing) => {
    const { told, endMs } = await outcomeOf(url, missing)
    expect(told).toEqual({ answer: 1 })
    // The cluster client of ioredis keeps a process until it is closed.
    if (kind !== 'cluster' || present !== 'ioredis') expect(await endMs()).toBeLessThan(EXIT_LIMIT_MS)
  })
})

it('says what to install where no package is there', async () => {
  const { told } = await outcomeOf(server.url, 'ioredis', 'redis')
  expect(told).toEqual({
    name: 'LockError',
    code: 'INVALID_OPTION',
    message: expect.stringContaining('npm install ioredis'),
  })
})

describe('a client for a URL', () => {
  it('listens also if it is asked to before the first call, and is quiet when it is closed', async () => {
    const client = new OwnClient(server.url, 'redisStore')
    atEnd(() => client.close())
    const heard = new Heard()
    const listening = client.listen(heard)
    for (const channel of ['a', 'b']) listening.add(channel)
    listening.delete('b')
    await heard.until('up a')
    expect(await server.command('publish', 'b', 'message')).toBe(0)
    expect(await server.command('publish', 'a', 'message')).toBe(1)
    await heard.until('a: message')
    await client.close()
    expect(heard.all).toEqual(['up a', 'a: message'])
    expect(await failureOf(client.eval('return 1', [], []))).toMatchObject({ code: 'CLOSED' })
  })

  it('that was never used opens nothing when it is closed', async () => {
    const client = new OwnClient('redis://127.0.0.1:1', 'redisStore')
    await client.close()
    expect(await failureOf(client.scanners())).toMatchObject({ code: 'CLOSED' })
  })

  it('knows what it will be before anything is opened', () => {
    expect(new OwnClient(urls.server, 'redisStore')).toMatchObject({ cluster: false, keyPrefix: '' })
    expect(new OwnClient(urls.cluster, 'redisStore')).toMatchObject({ cluster: true, keyPrefix: '' })
    expect(() => new OwnClient('http://localhost', 'redisStore')).toThrow(
      /^redisStore: the URL must start with/,
    )
  })
})
