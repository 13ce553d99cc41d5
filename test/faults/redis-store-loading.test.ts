import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { startRedis } from '../servers/redis.ts'
import { atEnd, everyClient, failureOf, locksOn, storeOn, until } from '../support/redis-stage.ts'

describe.each(everyClient)('$name: a server that is still reading its data', (client) => {
  it('G7 is waited for or says so, and works when it is done', async () => {
    const server = await startRedis({
      settings: { 'key-load-delay': 500, 'loading-process-events-interval-bytes': 1024 },
    })
    atEnd(() => server.stop())
    const filler = new Redis(server.url)
    filler.on('error', () => {})
    const pairs = Array.from({ length: 3000 }, (_, i) => [`other ${i}`, 'x'.repeat(50)]).flat()
    await filler.mset(...pairs)
    filler.disconnect()
    await server.command('save')
    // Longer than a call may take: what the server grants after it is still worth something.
    const locks = locksOn(storeOn(await client.open(server.url)), { lease: '10s' })
    const lease = await locks.acquire('before')
    await server.kill()
    const started = server.start()
    const said: string[] = []
    await until('an answer of the loading server', async () => {
      const error = await failureOf(locks.tryAcquire('meanwhile')).catch(() => undefined)
      if (error) said.push(error.message)
      return !error || /LOADING/.test(error.message) || said.length > 100
    })
    await started
    const allowed = /is reading its data|nothing listens there|connection was cut|did not answer within/
    expect(said.filter((text) => !allowed.test(text)).join('\n')).toBe('')
    // ioredis asks by itself, and sends nothing before.
    if (client.driver !== 'ioredis') expect(said.at(-1)).toMatch(/is reading its data \(LOADING/)
    await until('a call that works', () => locks.tryAcquire('after').then(Boolean, () => false))
    expect((await locks.acquire('before', { wait: '20s' })).token).toBeGreaterThan(lease.token)
  })
})
