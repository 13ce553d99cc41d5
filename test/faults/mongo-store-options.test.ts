import { describe, expect, it } from 'vitest'
import { mongoStore } from '../../src/stores/mongo/index.ts'
import { clientOn, failureOf, locksOn, storeOn } from '../support/mongo-stage.ts'

describe('what is wrong in the program fails at once:', () => {
  it.each<[string, unknown, unknown]>([
    ['nothing', undefined, {}],
    ['a number', 7, {}],
    ['an object that is no client', { db: 1 }, {}],
    ['another scheme', 'redis://localhost', {}],
    ['no host', 'mongodb://', {}],
    ['a database that cannot be decoded', 'mongodb://localhost/%zz', {}],
    ['a database that cannot be', 'mongodb://localhost/a%2Eb', {}],
    ['an unknown option', 'mongodb://localhost', { table: 'x' }],
    ['no options', 'mongodb://localhost', null],
    ['a database with a dot', 'mongodb://localhost', { database: 'a.b' }],
    ['an empty database', 'mongodb://localhost', { database: '' }],
    ['a long database', 'mongodb://localhost', { database: 'ä'.repeat(32) }],
    ['a collection of the server', 'mongodb://localhost', { collection: 'system.users' }],
    ['a collection with a dollar', 'mongodb://localhost', { collection: 'a$b' }],
    ['an empty collection', 'mongodb://localhost', { collection: '' }],
    ['a keep that is too short', 'mongodb://localhost', { keep: '59s' }],
    ['a keep that is none', 'mongodb://localhost', { keep: 'long' }],
  ])('%s', (_, given, options) => {
    const make = (): unknown => mongoStore(given as string, options as object)
    expect(make).toThrow(expect.objectContaining({ name: 'LockError', code: 'INVALID_OPTION' }))
  })

  it('a Db with a database', () => {
    const db = clientOn('mongodb://localhost').db('app')
    expect(() => mongoStore(db, { database: 'other' })).toThrow(/the Db given is of 'app'; give the client/)
  })

  it('a URL that the driver refuses, without its password', async () => {
    const locks = locksOn(storeOn('mongodb://me:secret@localhost/?nonsense=1'))
    const error = await failureOf(locks.tryAcquire('key'))
    expect(error).toMatchObject({ code: 'INVALID_OPTION', message: expect.stringMatching(/nonsense/) })
    expect(error.message).not.toContain('secret')
  })
})
