import { describe, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { atEnd, failureWithin, until } from '../support/stage.ts'
import { OwnStage, packages } from '../support/redis-packages.ts'

/** That of core for a call: whoever needs longer is not heard. */
const LIMIT_MS = 3000

async function own(settings: Record<string, string | number> = {}): Promise<RedisServer> {
  const server = await startRedis({ settings })
  atEnd(() => server.stop())
  return server
}

async function clientsOf(server: RedisServer): Promise<string[]> {
  return String(await server.command('client', 'list'))
    .split('\n')
    .filter((line) => line.includes(' name=holdfast '))
}

describe.each(packages)('$name', (one) => {
  it('opens one connection, with a name, to the database of the URL', async () => {
    const server = await own({ requirepass: 'p@ss/w:rd' })
    const password = encodeURIComponent('p@ss/w:rd')
    const stage = new OwnStage(one, `redis://:${password}@127.0.0.1:${server.port}/3`)
    expect(await clientsOf(server)).toEqual([])
    expect(await Promise.all([stage.eval('return 1'), stage.eval('return 2')])).toEqual([1, 2])
    expect(await clientsOf(server)).toEqual([expect.stringContaining(' db=3 ')])
    await stage.client.close()
    await until('it is closed', async () => (await clientsOf(server)).length === 0)
  })

  it('knows users by name', async () => {
    const server = await own()
    await server.command('acl', 'setuser', 'ann', 'on', '>secret', '~*', '+@all')
    const stage = new OwnStage(one, `valkey://ann:secret@localhost:${server.port}`)
    expect(await stage.eval('return 1')).toBe(1)
    expect(await clientsOf(server)).toEqual([expect.stringContaining(' user=ann ')])
  })

  it('says that the password is wrong, until it is the right one', async () => {
    const server = await own({ requirepass: 'right' })
    const stage = new OwnStage(one, `redis://:secret@127.0.0.1:${server.port}`)
    for (let times = 0; times < 3; times += 1) {
      const error = await failureWithin(LIMIT_MS, stage.eval('return 1'))
      expect(error.message).toMatch(/^WRONGPASS/)
      expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('secret')
    }
    await server.command('config', 'set', 'requirepass', 'secret')
    expect(await stage.eval('return 1')).toBe(1)
  })

  it('says that a password is missing', async () => {
    const server = await own({ requirepass: 'right' })
    const stage = new OwnStage(one, `redis://127.0.0.1:${server.port}`)
    expect((await failureWithin(LIMIT_MS, stage.eval('return 1'))).message).toMatch(/^NOAUTH/)
  })

  it('says that there is no such database, and uses no other instead', async () => {
    const server = await own({ databases: 2 })
    const stage = new OwnStage(one, `redis://127.0.0.1:${server.port}/2`)
    for (let times = 0; times < 3; times += 1) {
      const error = await failureWithin(LIMIT_MS, stage.eval("return redis.call('set', KEYS[1], 1)", 'key'))
      expect(error.message).toMatch(/DB index is out of range/)
    }
    expect(await server.command('dbsize')).toBe(0)
  })

  it('says that nothing listens there, until something does', async () => {
    const server = await own()
    await server.kill()
    const stage = new OwnStage(one, server.url)
    for (let times = 0; times < 3; times += 1) {
      expect(await failureWithin(LIMIT_MS, stage.eval('return 1'))).toMatchObject({ code: 'ECONNREFUSED' })
    }
    await server.start()
    expect(await stage.eval('return 1')).toBe(1)
  })

  it('says that there is no such host', async () => {
    const stage = new OwnStage(one, 'redis://no-such-host.invalid')
    expect((await failureWithin(LIMIT_MS, stage.eval('return 1'))).code).toMatch(
      /^(ENOTFOUND|EAI_AGAIN|ETIMEDOUT)$/,
    )
  })

  it('says that the server does not speak TLS', async () => {
    const server = await own()
    const stage = new OwnStage(one, `rediss://127.0.0.1:${server.port}`)
    const error = await failureWithin(LIMIT_MS, stage.eval('return 1'))
    expect(error).toMatchObject({ code: 'ETIMEDOUT', message: expect.stringMatching(/speaks TLS/) })
  })

  it('says that a server which stands still does not welcome it, until it goes on', async () => {
    const server = await own()
    await server.pause()
    const stage = new OwnStage(one, server.url)
    for (let times = 0; times < 2; times += 1) {
      expect(await failureWithin(LIMIT_MS, stage.eval('return 1'))).toMatchObject({ code: 'ETIMEDOUT' })
    }
    server.resume()
    expect(await stage.eval('return 1')).toBe(1)
  })

  it('opens another connection when the one it had was cut', async () => {
    const server = await own()
    const stage = new OwnStage(one, server.url)
    expect(await stage.eval('return 1')).toBe(1)
    await server.command('client', 'kill', 'type', 'normal')
    // The call that finds out may fail; none after it.
    await stage.eval('return 2').catch(() => undefined)
    expect(await stage.eval('return 3')).toBe(3)
    await server.restart()
    await stage.eval('return 4').catch(() => undefined)
    expect(await stage.eval('return 5')).toBe(5)
    expect(await clientsOf(server)).toHaveLength(1)
  })

  it('says that no sentinel can be reached, and that no node of a cluster can', async () => {
    const nobody = '127.0.0.1:1'
    const sentinel = new OwnStage(one, `redis+sentinel://${nobody}/main`)
    expect((await failureWithin(LIMIT_MS, sentinel.eval('return 1'))).message).toMatch(/sentinel/)
    const cluster = new OwnStage(one, `redis+cluster://${nobody}`)
    const error = await failureWithin(LIMIT_MS, cluster.eval('return 1', 'key'))
    expect(error.message).toMatch(/no node of the cluster can be reached|ECONNREFUSED/)
  })
})
