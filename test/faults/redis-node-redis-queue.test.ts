import { createClient } from 'redis'
import { afterEach, expect, it } from 'vitest'
import { createLocks } from '../../src/locks.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { freshPrefix } from '../servers/shared-redis.ts'
import { tcpProxy } from '../servers/tcp-proxy.ts'

const ended: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end()
})

it('G7 works again after a connection that broke as a command was about to be written, as docs/stores/redis.md says', async () => {
  const { url, prefix } = freshPrefix()
  const proxied = new URL(url)
  const proxy = await tcpProxy(Number(proxied.port))
  ended.push(() => proxy.close())
  proxied.port = String(proxy.port)
  const client = createClient({ url: proxied.href, disableOfflineQueue: true })
  await client.on('error', () => undefined).connect()
  ended.push(() => client.destroy())
  const locks = createLocks(redisStore(client, { prefix }), { logger: null })
  ended.push(() => locks.close())
  await locks.using('a', () => 1)

  for (let round = 0; round < 5; round += 1) {
    // The timer is due in the turn of the loop in which the client hears of the cut, and before that.
    const stray = new Promise<unknown>((resolve) => {
      setImmediate(() => {
        proxy.cut()
        setTimeout(() => resolve(client.sendCommand(['ECHO', 'stray']).catch(() => undefined)), 1)
        const end = performance.now() + 3
        while (performance.now() < end);
      })
    })
    await stray
    expect(await locks.using('a', { wait: '10s' }, (lease) => lease.held)).toBe(true)
  }
})
