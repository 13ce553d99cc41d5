import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { describe, expect, it } from 'vitest'
import { type FenceIoredis, type FenceNodeRedis, redisFence } from '../../src/fence/index.ts'
import { freshPrefix } from '../servers/shared-redis.ts'
import { atLast, failureOf } from '../support/postgres-stage.ts'

const { url, prefix } = freshPrefix()
const ioredis = new Redis(url)
const nodeRedis = createClient({ url })
nodeRedis.on('error', () => {})
await nodeRedis.connect()
atLast(() => ioredis.disconnect())
atLast(() => nodeRedis.destroy())

const clients: readonly (readonly [string, FenceIoredis | FenceNodeRedis])[] = [
  ['ioredis', ioredis],
  ['node-redis', nodeRedis],
]
const WRITE = `redis.call('SET', KEYS[1], ARGV[1]) return ARGV[1]`

describe.each(clients)('a guard in Redis, with %s', (name, client) => {
  const guard = redisFence(client, { prefix: `${prefix}:fence:${name}:` })
  const stock = `${prefix}:stock:${name}`

  it('runs the script of a newer token, and refuses that of an older one, which then writes nothing', async () => {
    const write = (token: bigint, amount: string): Promise<unknown> =>
      guard.run('late', token, WRITE, { keys: [stock], args: [amount] })
    expect(await write(10n, 'ten')).toBe('ten')
    expect(await write(11n, 'eleven')).toBe('eleven')
    expect(await failureOf(write(10n, 'late'))).toMatchObject({
      code: 'STALE_TOKEN',
      key: 'late',
      message: expect.stringMatching(/token 10 is stale.*11/),
    })
    expect(await ioredis.get(stock)).toBe('eleven')
    expect(await guard.highest('late')).toBe(11n)
  })

  it('lets the same token write again, and with strict only once', async () => {
    await guard.run('again', 5n, 'return 1')
    await guard.run('again', 5n, 'return 1')
    const strictly = guard.run('again', 5n, 'return 1', {}, { strict: true })
    expect(await failureOf(strictly)).toMatchObject({ code: 'STALE_TOKEN' })
    await guard.run('again', 6n, 'return 1', {}, { strict: true })
  })

  it('tells tokens apart that a Lua number could not', async () => {
    const high = 2n ** 63n - 1n
    await guard.run('digits', high, 'return 1')
    expect(await guard.highest('digits')).toBe(high)
    expect(await failureOf(guard.run('digits', high - 1n, 'return 1'))).toMatchObject({ code: 'STALE_TOKEN' })
    await guard.run('fewer digits', 9n, 'return 1')
    expect(await guard.run('fewer digits', 10n, 'return 1')).toBe(1)
  })

  it('resolves to what the script returns, and to null if it returns nothing', async () => {
    expect(
      await guard.run('reply', 1n, 'return { KEYS[2], ARGV[2], #KEYS }', {
        keys: ['a', 'b'],
        args: ['c', 'd'],
      }),
    ).toEqual(['b', 'd', 2])
    expect(await guard.run('reply', 1n, '')).toBeNull()
    expect(await guard.run('reply', 1n, 'return false')).toBeNull()
  })

  it('forgets a resource', async () => {
    await guard.run('gone', 7n, 'return 1')
    expect(await guard.forget('gone')).toBe(true)
    expect(await guard.forget('gone')).toBe(false)
    expect(await guard.highest('gone')).toBeNull()
    await guard.run('gone', 1n, 'return 1')
  })

  it('rejects with the mistake in a script', async () => {
    expect(await failureOf(guard.run('mistake', 1n, 'return nonsense('))).toBeInstanceOf(Error)
  })
})

it.each([
  [() => redisFence({} as never), /give a client of ioredis or node-redis/],
  [() => redisFence(ioredis, { prefix: '' }), /prefix/],
  [() => redisFence(ioredis, { nonsense: 1 } as never), /unknown option 'nonsense'/],
])('refuses what is no client or option: %#', (call, message) => {
  expect(call).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(message) }),
  )
})
