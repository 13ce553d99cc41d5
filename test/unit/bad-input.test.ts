import { describe, expect, it } from 'vitest'
import { watchLocks } from '../../src/alerts/index.ts'
import { fenceSql } from '../../src/fence/index.ts'
import {
  createLocks,
  type LocksOptions,
  memoryStore,
  mergeStats,
  type UsingOptions,
} from '../../src/index.ts'
import { instrument } from '../../src/otel/index.ts'
import { listenLocks, lockServer } from '../../src/server/index.ts'
import { mongoStore } from '../../src/stores/mongo/index.ts'
import { mysqlStore } from '../../src/stores/mysql/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { world } from './support/world.ts'

const body = (): void => {}

describe('bad keys are INVALID_LOCK_KEY at the call', () => {
  const bad: [name: string, key: unknown, says: RegExp][] = [
    ['empty', '', /not be empty/],
    ['a number', 42, /must be a string, not number/],
    ['null', null, /not null/],
    ['undefined', undefined, /not undefined/],
    ['with a newline', 'a\nb', /control character/],
    ['with NUL', 'a\0b', /control character/],
    ['with a C1 control', 'a\u0085b', /control character/],
    ['with half a surrogate pair', 'a\ud83d', /surrogate/],
    ['of 513 bytes', 'x'.repeat(513), /513 bytes .* 512/],
    ['of 171 three-byte characters', '界'.repeat(171), /513 bytes/],
  ]
  it.each(bad)('%s', async (_name, key, says) => {
    const { store, locks } = world()
    for (const call of [
      () => locks.acquire(key as string),
      () => locks.tryAcquire(key as string),
      () => locks.using(key as string, body),
      () => locks.inspect(key as string),
      () => locks.forceRelease(key as string),
    ]) {
      await expect(call()).rejects.toMatchObject({
        code: 'INVALID_LOCK_KEY',
        message: expect.stringMatching(says),
      })
    }
    expect(store.calls).toEqual([])
    await locks.close()
  })

  it('a lease instead of a key: the message names the key', async () => {
    const { locks } = world()
    const lease = await locks.acquire('stock:42')
    await expect(locks.acquire(lease as never)).rejects.toMatchObject({
      code: 'INVALID_LOCK_KEY',
      message: expect.stringContaining('"stock:42"'),
    })
    await locks.close()
  })

  it('keys of 512 bytes, of emoji, spaces, quotes and names of Object.prototype are fine', async () => {
    const { locks } = world()
    for (const key of [
      'x'.repeat(512),
      '😀'.repeat(128),
      ' ',
      `"'\`;--`,
      '__proto__',
      'constructor',
      '0',
      '{a}%_*',
    ]) {
      await expect(locks.using(key, (lease) => lease.key)).resolves.toBe(key)
    }
    await locks.close()
  })
})

describe('bad options are INVALID_OPTION at the call', () => {
  const bad: [options: object, says: RegExp][] = [
    [{ lease: -1 }, /lease: -1 is too short; it must be at least 50 ms/],
    [{ lease: 49 }, /at least 50 ms/],
    [{ lease: Number.NaN }, /lease: NaN is not a duration/],
    [{ lease: '5 parsecs' }, /'5 parsecs' is not a duration.*'30s'/],
    [{ lease: '10' }, /'10' is not a duration/],
    [{ lease: '-5s' }, /'-5s' is not a duration/],
    [{ lease: '1e9s' }, /not a duration/],
    [{ lease: Infinity }, /too long/],
    [{ lease: '9999h' }, /too long/],
    [{ lease: null }, /null is not a duration/],
    [{ lease: {} }, /not a duration/],
    [{ wait: -1 }, /wait: -1 is too short/],
    [{ wait: 'soon' }, /not a duration/],
    [{ ttl: 5 }, /using: unknown option 'ttl'; known are lease, /],
    [{ renew: 1 }, /renew: give true or false/],
    [{ reentrant: 'no' }, /reentrant/],
    [{ signal: {} }, /signal: give an AbortSignal/],
    [{ onLost: 'shrug' }, /onLost: give 'throw' or 'ignore'/],
    [{ context: () => {} }, /context/],
    [{ context: 1n }, /context/],
    [{ context: 'x'.repeat(5000) }, /context: at most 4096 bytes/],
    [
      { rotateToken: '16s' },
      /rotateToken: the lease \(30000 ms\) must be at least twice as long as 16000 ms/,
    ],
    [{ rotateToken: '1s', renew: false }, /rotateToken.*renew: true/],
    [{ atLeast: '31s' }, /atLeast: it must not be longer than the lease/],
  ]
  it.each(bad)('%o', async (options, says) => {
    const { store, locks } = world()
    const failing = locks.using('k', options as UsingOptions, body)
    await expect(failing).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(says),
    })
    expect(store.calls).toEqual([])
    await locks.close()
  })

  it('options must be an object, and using needs a body', async () => {
    const { locks } = world()
    for (const options of [5, 'x', [], null]) {
      await expect(locks.acquire('k', options as never)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    }
    await expect(locks.using('k', {} as never)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: /function/,
    })
    await expect(locks.using('k', undefined as never)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    await locks.close()
  })

  it('tryAcquire takes no wait, and says what to use', async () => {
    const { locks } = world()
    await expect(locks.tryAcquire('k', { wait: 5 } as never)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('tryAcquire never waits, use acquire'),
    })
    await locks.close()
  })

  const badClients: [options: object, says: RegExp][] = [
    [{ servise: 'x' }, /createLocks: unknown option 'servise'/],
    [{ service: '' }, /service/],
    [{ service: 5 }, /service/],
    [{ instance: 'a\nb' }, /instance/],
    [{ callTimeout: 0 }, /callTimeout/],
    [{ logger: 'loud' }, /logger/],
    [{ logger: {} }, /logger/],
    [{ poll: { min: 0 } }, /poll.min/],
    [{ poll: { min: '1s', max: '1ms' } }, /max must not be smaller than min/],
    [{ poll: { every: 5 } }, /unknown option 'every'/],
    [{ poll: 100 }, /poll: give { min, max }/],
  ]
  it.each(badClients)('createLocks with %o', (options, says) => {
    expect(() => createLocks(memoryStore(), options as LocksOptions)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(says) }),
    )
  })

  it('createLocks without a store, or with a URL of an unknown scheme', () => {
    for (const [store, says] of [
      [undefined, /memoryStore\(\)/],
      [{}, /has no open, acquire/],
      ['', /no scheme/],
      ['./locks.db', /no scheme/],
      ['sqlite://locks.db', /'sqlite:.\/locks.db'/],
      ['memory:shared', /has no name/],
      ['sqlite:', /path of a file/],
      ['sqlite::memory:', /memoryStore\(\)/],
      ['sqlite:~/locks.db', /only a shell knows ~/],
      ['sqlite:./locks.db?mode=ro', /takes no parameters/],
      ['sqlite:sqlite:./locks.db', /give the path alone/],
      ['cassandra://secret@host', /'cassandra:' is unknown; known are memory:, sqlite:/],
      ['__proto__:x', /unknown|no scheme/],
      ['constructor:x', /unknown/],
    ] as const) {
      expect(() => createLocks(store as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(says) }),
      )
    }
    expect(() => createLocks('cassandra://secret@host')).not.toThrow(/secret/)
  })

  it('createLocks with what is nearly a store says what is missing, and shows no source', () => {
    class OwnStore {
      secret = 1
    }
    const client = createLocks(memoryStore())
    for (const [given, says] of [
      [memoryStore, 'this is the function memoryStore: call it'],
      [OwnStore, 'this is the class OwnStore: give one that is made with new'],
      [(): string => 'secret', 'this is a function'],
      [function sql() {}, 'this is the function sql'],
      [Promise.resolve(client), 'this is a promise: await it first'],
      [client, 'this is a client that createLocks has made: use it as it is'],
      [null, 'this is null'],
      [7n, 'this is 7n'],
    ] as const) {
      const make = (): unknown => createLocks(given as never)
      expect(make).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(`; ${says}$`) }),
      )
    }
  })

  it.each([
    'mongodb://u:pa/secret@h:1/db',
    'mongodb://u:pa/secret@h',
    'mongodb://u:pa/secret:p',
    'mongodb://u:secret/db',
  ])('createLocks with %s, without what may be of the password', async (url) => {
    const ask = async (): Promise<unknown> => createLocks(url, { logger: null }).tryAcquire('key')
    const error = await ask().catch((thrown: Error) => thrown)
    expect(error).toMatchObject({ name: 'LockError', code: 'INVALID_OPTION' })
    expect((error as Error).stack).not.toContain('secret')
  })

  it('list, forceRelease, configure, on and tokenFor check what they get', async () => {
    const { locks } = world()
    for (const options of [
      { limit: 0 },
      { limit: 1001 },
      { limit: 1.5 },
      { prefix: 5 },
      { prefix: 'a\0' },
      { after: '\ud800' },
      { cursor: 'x' },
    ]) {
      await expect(locks.list(options as never)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    }
    await expect(locks.forceRelease('k', { grant: 0 })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    await expect(locks.forceRelease('k', { grant: undefined } as never)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
    })
    await expect(locks.forceRelease('k', { token: 5 } as never)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
    })
    expect(() => locks.configure({ lease: 1 })).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
    expect(() => locks.configure({ service: 'x' } as never)).toThrow(/unknown option 'service'/)
    expect(() => locks.on('granded' as never, body)).toThrow(/unknown event 'granded'/)
    expect(() => locks.on('granted', null as never)).toThrow(/must be a function/)
    const lease = await locks.acquire('k')
    expect(() => lease.tokenFor('other')).toThrow(expect.objectContaining({ code: 'LOCK_NOT_HELD' }))
    await expect(lease.extend('soon' as never)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    await locks.close()
  })
})

describe('what is no client, option or value at all', () => {
  const bare = Object.create(null) as never
  const refused = expect.objectContaining({ name: 'LockError', code: 'INVALID_OPTION' })

  it.each([
    ['lockServer', (wrong: never) => lockServer(wrong)],
    ['listenLocks', (wrong: never) => listenLocks(wrong)],
    ['instrument', (wrong: never) => instrument(wrong)],
    ['watchLocks', (wrong: never) => watchLocks(wrong)],
  ] as const)('%s says that it needs a client', async (name, call) => {
    for (const wrong of [undefined, null, {}, Promise.resolve(), memoryStore()])
      await expect(async () => call(wrong as never)).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringMatching(new RegExp(`^${name}: give the client that createLocks returned`)),
      })
  })

  it.each([
    ['an environment', () => createLocks(memoryStore(), { environment: {} as never })],
    ['no environment', () => createLocks(memoryStore(), { environment: null as never })],
    ['a clock of memory', () => memoryStore({ now: 5 as never })],
    ['options of memory', () => memoryStore(null as never)],
    ['a list of options of memory', () => memoryStore([] as never)],
    ['an option of memory', () => memoryStore({ clock: 1 } as never)],
    ['options of SQLite', () => sqliteStore('locks.db', null as never)],
    ['options of PostgreSQL', () => postgresStore('postgres://host/db', null as never)],
    ['options of MySQL', () => mysqlStore('mysql://host/db', null as never)],
    ['options of Redis', () => redisStore('redis://host', null as never)],
    ['options of MongoDB', () => mongoStore('mongodb://host', null as never)],
    ['a table of SQLite', () => sqliteStore('locks.db', { table: 10n as never })],
    ['no dialect', () => fenceSql(undefined as never)],
    ['no statistics', () => mergeStats(undefined as never)],
    ['other statistics', () => mergeStats([{}] as never)],
    ['an event', () => createLocks(memoryStore()).on(bare, () => {})],
  ])('%s', (_, call) => {
    expect(call).toThrow(refused)
  })

  it('objects that cannot be made a text', async () => {
    const { locks } = world()
    for (const options of [{ wait: bare }, { lease: bare }, { rotateToken: bare }, { atLeast: bare }])
      await expect(locks.using('k', options, () => 1)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    const lease = await locks.acquire('k')
    await expect(lease.extend(bare)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    expect(() => lease.tokenFor(bare)).toThrow(expect.objectContaining({ code: 'LOCK_NOT_HELD' }))
    const both = await locks.acquire(['a', 'b'])
    expect(() => both.tokenFor(bare)).toThrow(expect.objectContaining({ code: 'LOCK_NOT_HELD' }))
    await locks.close()
  })
})

describe('good options', () => {
  it('durations in every unit', async () => {
    const { locks } = world()
    for (const [lease, ms] of [
      ['250ms', 250],
      ['1.5s', 1500],
      ['5m', 300_000],
      ['1h', 3_600_000],
      [75, 75],
    ] as const) {
      await locks.using('k', { lease }, () => {})
      const held = await locks.acquire('k', { lease })
      expect((await locks.inspect('k'))?.leaseMs).toBe(ms)
      await held.release()
    }
    await locks.close()
  })

  it('configure changes the defaults of later acquisitions only', async () => {
    const { locks } = world({ lease: '10s' })
    const before = await locks.acquire('a')
    locks.configure({ lease: '20s', poll: { max: '2s' } })
    const after = await locks.acquire('b')
    expect([before.remainingMs, after.remainingMs]).toEqual([9_500, 19_000])
    await locks.close()
  })

  it('the holder is shown with service, instance and context', async () => {
    const { locks, other } = world()
    await locks.acquire('text', { context: 'nightly report' })
    await locks.acquire('json', { context: { job: 7 } })
    const two = other()
    const { locks: held } = await two.list({ prefix: '' })
    expect(held.map(({ key, holder }) => [key, holder.service, holder.instance, holder.context])).toEqual([
      ['json', 'one', 'one', '{"job":7}'],
      ['text', 'one', 'one', 'nightly report'],
    ])
    await locks.close()
    await two.close()
  })

  it('createLocks takes a URL', async () => {
    const locks = createLocks('memory:')
    await expect(locks.using('k', (lease) => lease.held)).resolves.toBe(true)
    expect((await locks.health()).store).toBe('memory')
    await locks.close()
  })
})
