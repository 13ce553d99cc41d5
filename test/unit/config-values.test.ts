import { describe, expect, it } from 'vitest'
import type { ConfigOptions } from '../../src/config/index.ts'
import { createLocks } from '../../src/locks.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { file, folder, once, open, refusal, seen, start } from './support/config.ts'

describe('a configuration', () => {
  it('is read from JSON and from YAML, also with a byte order mark', async () => {
    const json = { $schema: './schema.json', store: 'memory:', service: 'orders', lease: '10s' }
    const yaml = '# ours\nstore: "memory:"\nservice: orders\nlease: 10s\n'
    const files = [
      file('a.json', JSON.stringify(json)),
      file('b.json', `\ufeff${JSON.stringify(json)}`),
      file('a.yaml', yaml),
      file('b.YML', `\ufeff${yaml}`),
    ]
    for (const path of files) {
      expect(await seen(await start({ file: path }))).toMatchObject({ leaseMs: 10_000, service: 'orders' })
    }
  })

  it('comes from the environment alone, if there is no file', async () => {
    const env = {
      HOLDFAST_STORE: 'memory:',
      HOLDFAST_SERVICE: '42',
      HOLDFAST_INSTANCE: 'one',
      HOLDFAST_LEASE: '2500',
    }
    expect(await seen(await start({ env }))).toEqual({ leaseMs: 2500, service: '42', instance: 'one' })
  })

  it('is found by HOLDFAST_CONFIG', async () => {
    const env = { HOLDFAST_CONFIG: file('named.yaml', 'store: "memory:"\nlease: 7s\n') }
    expect(await seen(await start({ env }))).toMatchObject({ leaseMs: 7000 })
  })

  it('is looked for in the working directory, where there may be only one', async () => {
    const before = process.cwd()
    process.chdir(folder)
    try {
      expect(await refusal({})).toContain('store: missing')
      file('holdfast.config.yml', 'store: "memory:"\nlease: 9s\n')
      expect(await seen(await start({}))).toMatchObject({ leaseMs: 9000 })
      file('holdfast.config.json', '{"store":"memory:"}')
      expect(await refusal({})).toContain('holdfast.config.json and holdfast.config.yml, keep one of them')
    } finally {
      process.chdir(before)
    }
  })

  it('gives way to the environment, where an empty variable is none', async () => {
    const path = file('over.yaml', 'store: "memory:"\nservice: file\nlease: 7s\n')
    const env = { HOLDFAST_LEASE: '8s', HOLDFAST_SERVICE: '' }
    expect(await seen(await start({ file: path, env }))).toMatchObject({ leaseMs: 8000, service: 'file' })
  })

  it('without a setting means what createLocks means without it', async () => {
    const [mine, plain] = [await start({ env: { HOLDFAST_STORE: 'memory:' } }), createLocks('memory:')]
    open.push(plain)
    expect(await seen(mine)).toMatchObject({ leaseMs: (await seen(plain)).leaseMs, service: 'unnamed' })
  })

  it('has options of the store, also beside a URL from the environment', async () => {
    const url = `sqlite:${folder}/locks.db`
    const path = file('store.yaml', 'store: { table: one }\n')
    const one = await start({ file: path, env: { HOLDFAST_STORE: url } })
    const same = await start({ source: once({ store: { url, table: 'one' } }) })
    const other = await start({ file: path, env: { HOLDFAST_STORE: url, HOLDFAST_TABLE: 'two' } })
    await one.acquire('key')
    expect(await same.tryAcquire('key')).toBeNull()
    expect(await other.tryAcquire('key')).not.toBeNull()
  })

  it.each([
    { HOLDFAST_STORE: 'redis://h', HOLDFAST_PREFIX: '7', HOLDFAST_REPLICAS: '2', HOLDFAST_PUSH: 'false' },
    { HOLDFAST_STORE: 'mongodb://h', HOLDFAST_DATABASE: 'a', HOLDFAST_COLLECTION: 'b', HOLDFAST_KEEP: '2h' },
    {
      HOLDFAST_STORE: 'postgres://h/db',
      HOLDFAST_SCHEMA: 'a',
      HOLDFAST_TABLE: 'b',
      HOLDFAST_KEEP: '120000',
      HOLDFAST_CREATE: 'false',
      HOLDFAST_LISTEN: 'postgres://h2/db',
    },
    {
      HOLDFAST_STORE: 'memory:',
      HOLDFAST_WAIT: 'Infinity',
      HOLDFAST_POLL_MIN: '1s',
      HOLDFAST_POLL_MAX: '2s',
      HOLDFAST_CALL_TIMEOUT: '1s',
    },
  ])('takes each variable for what it is: %o', async (env) => {
    await start({ env })
  })

  it('has defaults for keys that fit a pattern', async () => {
    const keys = {
      'report:*': { lease: '10m' },
      constructor: { lease: '1m' },
      'report:daily:*': { lease: '1h' },
    }
    const locks = await start({ source: once({ store: 'memory:', lease: '5s', keys }) })
    expect((await seen(locks, 'report:1')).leaseMs).toBe(600_000)
    expect((await seen(locks, 'report:daily:1')).leaseMs).toBe(3_600_000)
    expect((await seen(locks, 'constructor')).leaseMs).toBe(60_000)
    expect((await seen(locks, 'other')).leaseMs).toBe(5000)
  })

  it('may leave the store to the program', async () => {
    const store = memoryStore()
    const locks = await start({ store, source: once({ lease: '3s' }) })
    const lease = await locks.acquire('key')
    expect((await store.list({ limit: 1 })).locks[0]?.leaseMs).toBe(3000)
    await lease.release()
    expect(await refusal({ store, env: { HOLDFAST_STORE: 'memory:' } })).toContain(
      'HOLDFAST_STORE: the program has',
    )
  })

  it.each(['Infinity', Infinity])('may say that acquire waits for ever: %s', async (wait) => {
    const locks = await start({ source: once({ store: 'memory:', wait, keys: { 'a*': { wait } } }) })
    await (await locks.acquire('abc')).release()
  })
})

describe('a mistake', () => {
  it('is told with its path and what is allowed, all of them in one error', async () => {
    const message = await refusal({
      source: once({
        store: { url: 'postgres://localhost/app', prefix: 'shop' },
        lease: '10',
        wait: -1,
        poll: { max: 'soon' },
        service: '',
        lese: '1s',
        keys: { 'report:*': { lease: '1ms', until: 1 }, 'a b': 5 },
      }),
      env: { HOLDFAST_CALL_TIMEOUT: 'never' },
    })
    for (const part of [
      '10 problems: ',
      'lease: give milliseconds or a number with a unit',
      "wait: give milliseconds or a number with a unit such as '250ms', '30s', '5m' or '1h', from 0 ms to 24 days, or 'Infinity'",
      'poll.max: give milli',
      'service: give a text, of 1 to 200 characters',
      'unknown lese, known are store, service, instance, lease, wait, callTimeout, poll, keys',
      'keys["report:*"].lease: give milli',
      'keys["report:*"]: unknown until, known are lease, wait, atLeast',
      'keys["a b"]: give an object with any of lease, wait, atLeast',
      'store.prefix: a PostgreSQL store has no such option, its options are: schema, table, keep, create, listen',
      'HOLDFAST_CALL_TIMEOUT: give milli',
    ]) {
      expect(message).toContain(part)
    }
  })

  it.each([
    [{}, 'store: missing'],
    [{ store: {} }, 'store: missing'],
    [{ store: 5 }, 'store: give a URL, or an object with any of url, prefix,'],
    [{ store: '' }, 'store.url: give a URL'],
    [{ store: 'localhost:5432' }, 'store.url: it must begin with one of memory:, sqlite:, postgres:'],
    [{ store: { url: 'memory:', table: 'x' } }, 'a memory store has no such option, its options are: none'],
    [{ store: { url: 'sqlite:./a.db', table: 'a b' } }, 'store: table: "a b" cannot name a table'],
    [{ store: { url: 'redis://localhost', prefix: 'a{b' } }, 'store: prefix: give 1 to 100 characters'],
    [
      { store: { url: 'redis://localhost', replicas: 1.5 } },
      'store.replicas: give a whole number from 0 to 100',
    ],
    [{ store: { url: 'mongodb://localhost', keep: '1s' } }, 'store.keep: give milliseconds'],
    [{ store: 'memory:', poll: { min: 600, max: 500 } }, 'poll.max: it must not be smaller than poll.min'],
    [{ store: 'memory:', keys: { 'a*': { atLeast: '31s' } } }, 'keys["a*"].atLeast: it must not be longer'],
    [
      { store: 'memory:', lease: 'x', keys: { '': { lease: '1s' } } },
      '2 problems: lease: give milliseconds or a number with a unit such as',
    ],
    [{ store: 'memory:', keys: { '': {} } }, 'keys[""]: a pattern has 1 to 512 characters, \'*\' is for all'],
    [{ store: 'memory:', lease: null }, 'lease: give milliseconds'],
    [{ store: 'memory:', lease: 49 }, 'from 50 ms'],
    [{ store: 'memory:', lease: '600h' }, 'to 24 days'],
    [{ store: 'memory:', constructor: 1, toString: 2 }, 'unknown constructor, toString'],
    [[], 'it must be an object'],
    ['memory:', 'it must be an object'],
    [null, 'it must be an object'],
  ])('in %j is told', async (value, part) => {
    expect(await refusal({ source: once(value) })).toContain(part)
  })

  it('in the patterns of keys is told: one that is longer than a key, or too many', async () => {
    const long = { ['*'.repeat(513)]: { lease: '1m' }, ok: {} }
    expect(await refusal({ source: once({ store: 'memory:', keys: long }) })).toContain(
      "keys[<a name that is not shown>]: a pattern has 1 to 512 characters, '*' is for all keys",
    )
    const many = Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`job-${i}:*`, {}]))
    expect(await refusal({ source: once({ store: 'memory:', keys: many }) })).toContain(
      'keys: give at most 1000 patterns',
    )
  })

  it('in the name of a variable is told, and what others call theirs is left alone', async () => {
    const wrong = [
      'HOLDFAST_LEASES',
      'HOLDFAST_CALLTIMEOUT',
      'HOLDFAST_STORE_URL',
      'HOLDFAST_LEASE_MS',
      'HOLDFAST_CONFG',
    ]
    for (const name of wrong) {
      const env = { HOLDFAST_STORE: 'memory:', [name]: '1' }
      expect(await refusal({ env })).toContain(`the variable ${name} is unknown, did you mean HOLDFAST_`)
    }
    const others = [
      'HOLDFAST_PORT',
      'HOLDFAST_PORT_80_TCP_ADDR',
      'HOLDFAST_SERVICE_HOST',
      'HOLDFAST_SERVICE_PORT_HTTP',
      'HOLDFAST_STORE_SERVICE_HOST',
      'HOLDFAST_POSTGRES_URL',
      'HOLDFAST_REDIS_URL',
      'HOLDFAST_MONGODB_SET_URL',
    ]
    await start({
      env: { HOLDFAST_STORE: 'memory:', ...Object.fromEntries(others.map((name) => [name, 'x'])) },
    })
  })

  it('in the options is told', async () => {
    expect(await refusal({ files: 'a.json' } as ConfigOptions)).toContain("unknown option 'files'")
    expect(await refusal({ file: '' })).toContain('file: give the path')
    expect(await refusal({ file: 'a.json', source: once({}) })).toContain('give either file or source')
    expect(await refusal({ source: {} as never })).toContain('source: give an async iterable')
    expect(await refusal({ source: () => 5 as never })).toContain(
      'source: what the function returned is no async iterable',
    )
    expect(await refusal({ env: null as never })).toContain('env: give an object')
    expect(await refusal({ source: once({}), env: { HOLDFAST_CONFIG: 'a.json' } })).toContain(
      'HOLDFAST_CONFIG is set',
    )
  })
})
