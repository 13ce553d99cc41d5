import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { IoredisClient } from '../../src/stores/redis/ioredis.ts'
import { freePort } from '../servers/free-port.ts'
import { startRedis } from '../servers/redis.ts'
import { startSentinel } from '../servers/redis-sentinel.ts'
import { tcpProxy } from '../servers/tcp-proxy.ts'
import { Heard } from '../support/heard.ts'
import { drivers } from '../support/ioredis-drivers.ts'
import { atEnd, atLast, until } from '../support/stage.ts'

const server = await startRedis()
atLast(() => server.stop())
const { host, port } = server

async function publish(channel: string, message: string): Promise<number> {
  return Number(await server.command('publish', channel, message))
}

async function subscribersOf(channel: string): Promise<number> {
  const reply = await server.command('pubsub', 'numsub', channel)
  return Number((reply as unknown[])[1])
}

/** Of one test: a client, what it listens to, and what was heard. */
function stage(client: IoredisClient): { heard: Heard; listening: ReturnType<IoredisClient['listen']> } {
  const heard = new Heard()
  atEnd(() => client.close())
  return { heard, listening: client.listen(heard) }
}

describe.each(drivers)('$name', (driver) => {
  it('a channel is up once messages arrive, and is heard until it is deleted', async () => {
    const { heard, listening } = stage(new IoredisClient(driver.redis({ host, port })))
    listening.add('a')
    listening.add('b')
    expect(heard.all).toEqual([])
    await heard.until('up a')
    expect(await publish('a', 'first')).toBe(1)
    await heard.until('a: first')
    await heard.until('up b')
    listening.delete('a')
    await until('nobody listens', async () => (await subscribersOf('a')) === 0)
    await publish('b', 'second')
    await heard.until('b: second')
    // Once more, and at once: the last word counts.
    listening.add('a')
    listening.delete('a')
    listening.add('a')
    await heard.until('up a', 2)
    expect(await publish('a', 'third')).toBe(1)
    await heard.until('a: third')
    expect(heard.count('down a')).toBe(0)
  })

  it.each([
    ['a key prefix', { keyPrefix: 'app:' }],
    ['pipelines of its own', { enableAutoPipelining: true }],
    ['no connection yet', { lazyConnect: true }],
    ['no offline queue', { enableOfflineQueue: false }],
    ['a database of its own', { db: 5 }],
    ['a time limit', { commandTimeout: 100 }],
    ['text for numbers', { stringNumbers: true }],
    ['no ready check', { enableReadyCheck: false }],
    ['a retry of its own', { retryStrategy: () => null, reconnectOnError: () => 2, maxRetriesPerRequest: 1 }],
  ])('a client with %s is heard on the channel by its full name', async (_, options) => {
    const { heard, listening } = stage(new IoredisClient(driver.redis({ host, port, ...options })))
    listening.add('channel')
    await heard.until('up channel')
    await publish('channel', 'message')
    await heard.until('channel: message')
    expect(heard.count('down channel')).toBe(0)
  })

  it('a killed subscriber is down, heals, and is up again', async () => {
    const { heard, listening } = stage(new IoredisClient(driver.redis({ host, port })))
    listening.add('a')
    listening.add('b')
    for (let times = 1; times <= 3; times += 1) {
      await Promise.all([heard.until('up a', times), heard.until('up b', times)])
      await publish('a', `${times}`)
      await heard.until(`a: ${times}`)
      expect([heard.count('down a'), heard.count('down b')]).toEqual([times - 1, times - 1])
      await server.command('client', 'kill', 'type', 'pubsub')
      await Promise.all([heard.until('down a', times), heard.until('down b', times)])
    }
  })

  it('a server that is gone for a while is found again', async () => {
    const own = await startRedis()
    atEnd(() => own.stop())
    const client = new IoredisClient(driver.redis({ host, port: own.port }))
    const { heard, listening } = stage(client)
    listening.add('a')
    await heard.until('up a')
    await own.kill()
    await heard.until('down a')
    listening.add('b')
    await own.start()
    await heard.until('up a', 2)
    await heard.until('up b')
    expect([heard.count('down a'), heard.count('down b')]).toEqual([1, 0])
  })

  it('a connection that is dead without a word is found out', async () => {
    const proxy = await tcpProxy(port)
    atEnd(() => proxy.close())
    const { heard, listening } = stage(new IoredisClient(driver.redis({ host, port: proxy.port })))
    listening.add('a')
    await heard.until('up a')
    proxy.strand()
    await heard.until('down a')
    await heard.until('up a', 2)
  })

  it('a refused channel does not disturb the others', async () => {
    await server.command('acl', 'setuser', 'few', 'on', '>few', '+@all', '~*', 'resetchannels', '&mine')
    const { heard, listening } = stage(
      new IoredisClient(driver.redis({ host, port, username: 'few', password: 'few' })),
    )
    listening.add('mine')
    listening.add('other')
    await heard.until('up mine')
    await server.command('acl', 'setuser', 'few', '&other')
    await heard.until('up other')
    expect(heard.all).toEqual(['up mine', 'up other'])
  })

  it('a fail-over by Sentinel is followed', async () => {
    const set = await startSentinel()
    atEnd(() => set.stop())
    const client = new IoredisClient(driver.redis({ sentinels: set.sentinels, name: set.name }))
    const { heard, listening } = stage(client)
    listening.add('a')
    await heard.until('up a')
    const master = await set.master()
    // Silent, as after a cut: nobody closes its connections.
    await master.pause()
    await set.settled()
    await heard.until('up a', 2)
    expect(await (await set.master()).command('publish', 'a', 'from the new one')).toBe(1)
    await heard.until('a: from the new one')
    expect(heard.count('down a')).toBe(1)
  })

  it('a server with TLS is listened to by TLS', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-tls-'))
    atEnd(() => rmSync(folder, { recursive: true }))
    const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
    const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
    await promisify(execFile)('openssl', [...request, ...subject, '-keyout', key, '-out', cert])
    // The server has an account of its own.
    for (const path of [folder, key, cert]) chmodSync(path, 0o755)
    const [tlsPort, files] = [await freePort(), { 'tls-cert-file': cert, 'tls-key-file': key }]
    const own = await startRedis({ settings: { 'tls-port': tlsPort, 'tls-auth-clients': 'no', ...files } })
    atEnd(() => own.stop())
    const tls = { ca: readFileSync(cert, 'utf8') }
    const client = new IoredisClient(driver.redis({ host, port: tlsPort, tls }))
    const { heard, listening } = stage(client)
    listening.add('a')
    await heard.until('up a')
    expect(await client.eval("return redis.call('publish', 'a', 'by TLS')", ['a'], [])).toBe(1)
    await heard.until('a: by TLS')
  })
})
