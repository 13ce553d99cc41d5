import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { describe, expect, it } from 'vitest'
import { redisStore } from '../../src/stores/redis/index.ts'

const URL = 'redis://:s3cret@localhost:6379'

function refusal(call: () => unknown): { code: string; message: string } {
  try {
    call()
  } catch (error) {
    const { code, message } = error as { code: string; message: string }
    return { code, message }
  }
  throw new Error('this should have been refused')
}

describe('redisStore refuses at the call', () => {
  it.each([
    '',
    'a b',
    'a\n',
    'a\u0000b',
    '{a}',
    'a}',
    'x'.repeat(101),
    '\ud800',
    7,
    null,
    { toString: () => 'x' },
  ])('the prefix %j', (prefix) => {
    expect(refusal(() => redisStore(URL, { prefix: prefix as string }))).toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(/redisStore: prefix: give 1 to 100 characters without braces/),
    })
  })

  it.each([
    [{ replicas: -1 }, /replicas: give a whole number from 0 to 100/],
    [{ replicas: 1.5 }, /replicas: give a whole number/],
    [{ replicas: '1' }, /replicas: give a whole number/],
    [{ replicas: 101 }, /replicas: give a whole number/],
    [{ replicas: Number.NaN }, /replicas: give a whole number/],
    [{ push: 'yes' }, /push: give true or false/],
    [{ push: null }, /push: give true or false/],
    [{ prefixes: 'x' }, /unknown option 'prefixes'; known are prefix, replicas, push/],
    [null, /options must be an object/],
    ['prefix', /options must be an object/],
    [7, /options must be an object/],
  ])('the options %j', (options, says) => {
    const said = refusal(() => redisStore(URL, options as never))
    expect(said).toMatchObject({ code: 'INVALID_OPTION', message: expect.stringMatching(says) })
    expect(said.message).not.toContain('s3cret')
  })

  it.each([
    undefined,
    null,
    7,
    {},
    [],
    () => {},
    Redis,
    createClient,
    { host: 'localhost', port: 6379 },
    new Map(),
  ])('%o in the place of a client', (given) => {
    expect(refusal(() => redisStore(given as never))).toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(/give a client of ioredis or node-redis, or a URL such as/),
    })
  })

  it.each([
    '',
    'localhost',
    'http://localhost',
    'redis://',
    'redis://:s3cret@/0',
    'redis://h/x',
    'redis://h?db=1',
  ])('the URL %j, and never shows it', (url) => {
    const said = refusal(() => redisStore(url))
    expect(said).toMatchObject({ code: 'INVALID_OPTION', message: expect.stringMatching(/URL/) })
    expect(said.message).not.toContain('s3cret')
  })

  it('and takes what is undefined for absent', async () => {
    const store = redisStore(URL, { prefix: undefined, replicas: undefined, push: undefined })
    expect(store.name).toBe('redis')
    await store.close()
  })
})
