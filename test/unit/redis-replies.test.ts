import { expect, it } from 'vitest'
import { redisFence } from '../../src/fence/index.ts'
import type { RedisClient, ScriptCall } from '../../src/stores/redis/client.ts'
import { RedisStore } from '../../src/stores/redis/store.ts'
import { askFor } from '../support/asks.ts'

/** Gives each call the reply of the one before, as a client does that has lost count. */
class OutOfStep implements Partial<RedisClient> {
  readonly cluster = false
  readonly keyPrefix = ''
  #reply: unknown = ['of an earlier life', [1]]

  async evalSha(...[, , args]: ScriptCall): Promise<unknown> {
    const reply = this.#reply
    this.#reply = [args.at(-1), [1]]
    return reply
  }
}

it('G1 the reply to another call is no grant, no renewal and no release', async () => {
  const client = new OutOfStep() as unknown as RedisClient
  const store = new RedisStore({ client, prefix: 'holdfast', replicas: 0, push: false })
  const ask = askFor('key')
  const wrong = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining('the reply of another') }
  await expect(store.acquire([ask])).rejects.toMatchObject(wrong)
  await expect(store.acquire([ask])).rejects.toMatchObject(wrong)
  await expect(store.renew([ask])).rejects.toMatchObject(wrong)
  await expect(store.release([ask])).rejects.toMatchObject(wrong)
})

it('G3 the reply to another call is no word of the guard', async () => {
  let reply: unknown = ['of an earlier life', ['done', 'written']]
  const client = {
    evalsha: () => Promise.reject(new Error('not used')),
    eval: async (_script: string, _keys: number, ...rest: string[]) => {
      const earlier = reply
      reply = [rest.at(-1), ['done', 'written']]
      return earlier
    },
  }
  const guard = redisFence(client)
  const wrong = expect.objectContaining({ message: expect.stringContaining('the reply of another') })
  await expect(guard.run('stock', 1n, 'return 1')).rejects.toEqual(wrong)
  await expect(guard.run('stock', 2n, 'return 1')).rejects.toEqual(wrong)
  await expect(guard.highest('stock')).rejects.toEqual(wrong)
  await expect(guard.forget('stock')).rejects.toEqual(wrong)
})
