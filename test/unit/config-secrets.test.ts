import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { LockError } from '../../src/errors.ts'
import { once, start } from './support/config.ts'
import { Centre, stage } from './support/config-centre.ts'

const secret = 'hunter2secret'
const url = `https://user:${secret}@vault:8200`

/** What a source may throw, or what its values may throw when they are read: not always an error. */
const thrown = [
  ['an error', new Error(`cannot reach ${url}`)],
  [
    'an error with a cause and properties',
    Object.assign(new Error('no', { cause: new Error(url) }), { url }),
  ],
  ['an error of holdfast', new LockError('STORE_UNAVAILABLE', url, { cause: new Error(url) })],
  ['one that calls itself so', Object.assign(new Error(url), { name: 'LockError' })],
  ['one whose name and code are odd', Object.assign(new TypeError(url), { name: `${url}Error`, code: url })],
  ['a text', url],
  ['an object', { url }],
  ['nothing', undefined],
  [
    'an error that throws when it is read',
    Object.defineProperty(new Error(url), 'code', {
      get: () => {
        throw new Error(url)
      },
    }),
  ],
] as [string, Error][]

const failing = (what: Error): AsyncIterable<unknown> => ({
  [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(what) }),
})

const valueThatThrows = (error: Error): object =>
  Object.defineProperty({}, 'lease', {
    enumerable: true,
    get: () => {
      throw error
    },
  })

const all = (error: unknown): string => inspect(error, { depth: 10, showHidden: true })

describe('nothing of what a source throws is shown, however the error is printed', () => {
  it.each(thrown)('when it starts: %s', async (_what, error) => {
    for (const source of [failing(error), () => failing(error), once(valueThatThrows(error))]) {
      const refused: unknown = await start({ source }).catch((each: unknown) => each)
      expect(refused).toMatchObject({ name: 'LockError', code: 'INVALID_OPTION' })
      expect(all(refused)).not.toContain(secret)
      expect(all(refused)).toMatch(/source: it has failed|source: it cannot be read/)
    }
  })

  it.each(thrown)('on a change: %s', async (_what, error) => {
    const lines: string[] = []
    const centre = new Centre({ lease: '10s' })
    const logger = { warn: (line: string) => void lines.push(line) }
    const { errors, arrive, leaseOf } = await stage(centre, { logger })
    await arrive()
    centre.give(valueThatThrows(error))
    await arrive()
    centre.fail(error)
    await arrive()
    expect(errors).toHaveLength(2)
    expect(all(errors) + lines.join()).not.toContain(secret)
    expect(lines).toEqual([
      expect.stringContaining('source: it cannot be read; the last valid'),
      expect.stringContaining('source: it has failed'),
    ])
    expect(await leaseOf('a')).toBe(10_000)
  })

  it('but its code, or else its name', async () => {
    const refusalOf = (what: Error): Promise<unknown> =>
      start({ source: failing(what) }).catch((each: Error) => each.message)
    const fetchFailed = new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })
    expect(await refusalOf(fetchFailed)).toBe('configuration: source: it has failed (ECONNREFUSED)')
    expect(await refusalOf(new TypeError(url))).toBe('configuration: source: it has failed (TypeError)')
    expect(await refusalOf(new Error(url))).toBe('configuration: source: it has failed')
  })
})
