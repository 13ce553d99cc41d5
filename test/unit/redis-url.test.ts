import { describe, expect, it } from 'vitest'
import { LockError } from '../../src/errors.ts'
import { checkRedisUrl, readRedisUrl } from '../../src/stores/redis/url.ts'

const PLAIN = {
  kind: 'server',
  tls: false,
  username: undefined,
  password: undefined,
  master: '',
  database: 0,
}
const local = [{ host: 'localhost', port: 6379 }]

describe('a Redis URL', () => {
  it.each<[string, object]>([
    ['redis://localhost', { addresses: local }],
    ['redis://localhost/', { addresses: local }],
    ['REDIS://localhost:6379/0', { addresses: local }],
    ['valkey://localhost', { addresses: local }],
    ['rediss://localhost', { addresses: local, tls: true }],
    ['valkeys://localhost', { addresses: local, tls: true }],
    ['redis://10.0.0.1:7000/15', { addresses: [{ host: '10.0.0.1', port: 7000 }], database: 15 }],
    ['redis://[::1]:7000', { addresses: [{ host: '::1', port: 7000 }] }],
    ['redis://[fe80::1]', { addresses: [{ host: 'fe80::1', port: 6379 }] }],
    ['redis://:secret@localhost', { addresses: local, password: 'secret' }],
    ['redis://ann@localhost', { addresses: local, username: 'ann' }],
    [
      'redis://ann:p%40ss%2Fw%3Ard%25@localhost',
      { addresses: local, username: 'ann', password: 'p@ss/w:rd%' },
    ],
    ['redis://ann:a:b@c@localhost', { addresses: local, username: 'ann', password: 'a:b@c' }],
    [
      'redis+sentinel://ann:secret@one,[::1]:7000/my%20master/2',
      {
        kind: 'sentinel',
        username: 'ann',
        password: 'secret',
        addresses: [
          { host: 'one', port: 26379 },
          { host: '::1', port: 7000 },
        ],
        master: 'my master',
        database: 2,
      },
    ],
    [
      'rediss+sentinel://one/main',
      { kind: 'sentinel', tls: true, addresses: [{ host: 'one', port: 26379 }], master: 'main' },
    ],
    [
      'rediss+cluster://one:7000,two/',
      {
        kind: 'cluster',
        tls: true,
        addresses: [
          { host: 'one', port: 7000 },
          { host: 'two', port: 6379 },
        ],
      },
    ],
    ['valkey+cluster://one/0', { kind: 'cluster', addresses: [{ host: 'one', port: 6379 }] }],
  ])('%s is read', (url, expected) => {
    expect(readRedisUrl(url, 'redisStore')).toEqual({ ...PLAIN, ...expected })
  })

  it.each<[string, RegExp]>([
    ['', /must start with redis:/],
    ['localhost:6379', /must start with redis:/],
    ['http://:secret@localhost', /must start with redis:/],
    ['redis:localhost', /must start with redis:/],
    ['redis+other://:secret@localhost', /must start with redis:/],
    ['redis://', /no host/],
    ['redis://:secret@', /no host/],
    ['redis://:secret@:6379', /no host/],
    ['redis://:sec/ret@localhost', /percent-encoded/],
    ['redis://:secret@[localhost]', /cannot be read/],
    ['redis://:secret@::1', /cannot be read/],
    ['redis://:secret@localhost:0', /port/],
    ['redis://:secret@localhost:65536', /port/],
    ['redis://:secret@localhost:secret', /cannot be read/],
    ['redis://:secret%@localhost', /percent-encoded/],
    ['redis://:secret@localhost/secret', /not a number/],
    ['redis://:secret@localhost/0/secret', /not a number/],
    ['redis://:secret@localhost/-1', /not a number/],
    ['redis://:secret@localhost/0?db=secret', /takes no parameters/],
    ['redis://:secret@localhost#secret', /takes no parameters/],
    ['redis://:secret@one,two', /several hosts/],
    ['redis+sentinel://:secret@one', /what the sentinels call the master/],
    ['redis+sentinel://:secret@one//0', /what the sentinels call the master/],
    ['redis+sentinel://:secret@one/main/secret', /not a number/],
    ['redis+sentinel://:secret@one,,two/main', /no host/],
    ['redis+cluster://:secret@one/1', /only database 0/],
  ])('%s is refused, without a word of what is secret', (url, says) => {
    let error: unknown
    try {
      checkRedisUrl(url, 'redisStore')
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(LockError)
    const { code, message, cause } = error as LockError
    expect([code, message, cause]).toEqual(['INVALID_OPTION', expect.stringMatching(says), undefined])
    expect(message).toMatch(/^redisStore: /)
    expect(message).not.toMatch(/secret|sec\/ret/)
  })
})
