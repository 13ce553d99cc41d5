import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { RedisClientOptions } from 'redis'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Listening } from '../../src/stores/redis/client.ts'
import { NodeRedisClient } from '../../src/stores/redis/node-redis.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { Heard } from '../support/heard.ts'
import { drivers } from '../support/node-redis-drivers.ts'
import { atEnd, atLast, until } from '../support/stage.ts'

const LISTENER = fileURLToPath(new URL('fixtures/node-redis-listener.ts', import.meta.url))

const shared = await startRedis()
atLast(() => shared.stop())

async function ownServer(): Promise<RedisServer> {
  const server = await startRedis()
  atEnd(() => server.stop())
  return server
}

describe.each(drivers)('$name', (driver) => {
  async function stage(
    { url }: RedisServer,
    options: RedisClientOptions = {},
  ): Promise<{ heard: Heard; listening: Listening }> {
    const user = driver.client({ url, ...options })
    await user.connect()
    const client = new NodeRedisClient(user)
    atEnd(() => client.close())
    const heard = new Heard()
    return { heard, listening: client.listen(heard) }
  }

  it.each<[string, RedisClientOptions]>([
    ['of RESP 2', { RESP: 2 }],
    ['of RESP 3', { RESP: 3 }],
    ['with another database', { database: 3 }],
    ['without an offline queue', { disableOfflineQueue: true }],
    ['that pings', { pingInterval: 10 }],
    ['that gives up on silence', { socket: { socketTimeout: 500, reconnectStrategy: 10 } }],
    ['with a short queue', { commandsQueueMaxLength: 5 }],
  ])('a client %s hears what it wants to, and nothing else', async (_, options) => {
    const { heard, listening } = await stage(shared, options)
    for (const channel of ['a', 'b', 'c']) listening.add(channel)
    expect(heard.all).toEqual([])
    for (const channel of ['a', 'b', 'c']) await heard.until(`up ${channel}`)
    expect(await shared.command('publish', 'b', 'message')).toBe(1)
    await heard.until('b: message')
    listening.delete('b')
    await until('nobody listens', async () => (await shared.command('publish', 'b', 'late')) === 0)
    expect(await shared.command('publish', 'c', 'still')).toBe(1)
    await heard.until('c: still')
    listening.delete('c')
    listening.add('c')
    await heard.until('up c', 2)
    expect(await shared.command('publish', 'c', 'again')).toBe(1)
    await heard.until('c: again')
    await listening.close()
    await until('nobody listens', async () => (await shared.command('publish', 'a', 'late')) === 0)
    expect(heard.all.filter((one) => one.startsWith('down'))).toEqual([])
  })

  it('a cut connection is down, and up when the server has confirmed it again', async () => {
    const server = await ownServer()
    const { heard, listening } = await stage(server)
    for (const channel of ['a', 'b']) listening.add(channel)
    for (let times = 1; times <= 3; times += 1) {
      for (const channel of ['a', 'b']) await heard.until(`up ${channel}`, times)
      expect(await server.command('publish', 'b', `${times}`)).toBe(1)
      await heard.until(`b: ${times}`)
      await server.command('client', 'kill', 'type', 'pubsub')
      for (const channel of ['a', 'b']) await heard.until(`down ${channel}`, times)
    }
    await heard.until('up a', 4)
    expect(heard.count('up a')).toBe(4)
  })

  it('a server that was away for a while is listened to again', async () => {
    const server = await ownServer()
    const { heard, listening } = await stage(server)
    listening.add('a')
    await heard.until('up a')
    await server.kill()
    await heard.until('down a')
    listening.add('b')
    await server.start()
    await heard.until('up a', 2)
    await heard.until('up b')
    expect(await server.command('publish', 'b', 'message')).toBe(1)
    await heard.until('b: message')
  })

  it('a server that stands still is found out', async () => {
    const server = await ownServer()
    const { heard, listening } = await stage(server)
    listening.add('a')
    await heard.until('up a')
    await server.pause()
    await heard.until('down a')
    server.resume()
    await heard.until('up a', 2)
  })

  it('what is closed while it connects leaves no connection', async () => {
    const server = await ownServer()
    const user = driver.client({ url: server.url, name: 'user' })
    await user.connect()
    const connections = async (): Promise<number> =>
      String(await server.command('client', 'list')).match(/ name=user /g)?.length ?? 0
    const opened = async (): Promise<number> =>
      Number(/total_connections_received:(\d+)/.exec(String(await server.command('info', 'stats')))?.[1])
    for (const turns of [0, 1, 2, 3]) {
      const before = await opened()
      const client = new NodeRedisClient(user)
      client.listen(new Heard()).add('a')
      for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate)
      await client.close()
      // Each look is one, too.
      let looks = 1
      if (turns > 0) await until('it was opened', async () => (await opened()) > before + looks++)
      await until('it is gone', async () => (await connections()) === 1)
    }
  })

  it('a channel that is refused does not keep others from being heard', async () => {
    const server = await ownServer()
    await server.command('acl', 'setuser', 'u', 'on', 'nopass', '+@all', '~*', 'resetchannels', '&ok*')
    const { heard, listening } = await stage(server, { username: 'u', password: 'any' })
    listening.add('other')
    listening.add('ok')
    await heard.until('up ok')
    await server.command('acl', 'setuser', 'u', '&other')
    await heard.until('up other')
    // A server cuts the subscribers of a user whose channels change.
    await heard.until('up ok', 1 + heard.count('down ok'))
  })

  it.each(['closes', 'leaves', 'leaves without a server'])(
    'a process that listened and %s ends by itself',
    async (manner) => {
      const server = await ownServer()
      const args = [driver.packageName, server.url, manner]
      const child = fork(LISTENER, args, { execArgv: ['--import', import.meta.resolve('tsx')] })
      onTestFinished(() => void child.kill('SIGKILL'))
      const exited = once(child, 'exit')
      expect(await once(child, 'message')).toEqual(['listening', undefined])
      if (manner === 'leaves without a server') await server.kill()
      child.send('go on')
      expect(await exited).toEqual([0, null])
    },
  )
})
