import { inspect } from 'node:util'
import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { createLocks } from '../../src/locks.ts'
import { asLockError } from '../../src/stores/postgres/failures.ts'
import { postgresSql, postgresStore } from '../../src/stores/postgres/index.ts'
import { DEFAULT_NAMES } from '../../src/stores/postgres/schema.ts'

const URL = 'postgres://app:s3cret@localhost/app'

function refusal(call: () => unknown): { code: string; message: string } {
  try {
    call()
  } catch (error) {
    const { code, message } = error as { code: string; message: string }
    return { code, message }
  }
  throw new Error('this should have been refused')
}

describe('postgresStore refuses at the call', () => {
  it.each([
    ['"', 'quote'],
    [`x"; drop table users; --`, 'injection'],
    [`x'; drop table users; --`, 'injection'],
    ['a.b', 'dot'],
    ['', 'empty'],
    ['1st', 'digit first'],
    ['a b', 'blank'],
    ['a\u0000b', 'NUL'],
    ['ключ', 'other letters'],
    ['a'.repeat(64), 'too long: the server would cut it'],
    ['a\n', 'line end'],
    [7, 'number'],
    [{ toString: () => 'x' }, 'object'],
  ] as [unknown, string][])('the name %j: %s', (name) => {
    for (const option of ['schema', 'table']) {
      for (const call of [
        () => postgresStore(URL, { [option]: name }),
        () => postgresSql({ [option]: name }),
      ]) {
        expect(refusal(call)).toMatchObject({
          code: 'INVALID_OPTION',
          message: expect.stringMatching(new RegExp(`${option}: .*use letters, digits and underscores`)),
        })
      }
    }
  })

  it.each([
    [{ keep: '59s' }, /keep/],
    [{ keep: -1 }, /keep/],
    [{ keep: 'long' }, /keep/],
    [{ create: 'yes' }, /create: give true or false/],
    [{ listen: 7 }, /listen: give true, false, or the URL/],
    [{ listen: 'mysql://localhost' }, /listen: the URL must start with postgres/],
    [{ tables: 'x' }, /unknown option 'tables'; known are schema, table/],
  ])('the options %j', (options, says) => {
    expect(refusal(() => postgresStore(URL, options as never))).toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(says),
    })
  })

  it.each([undefined, null, 7, {}, [], () => {}, { query: 'no' }, { connect() {} }])(
    'what is no client: %o',
    (client) => {
      expect(refusal(() => postgresStore(client as never))).toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringMatching(/give a Pool or Client of pg, an instance of postgres.js, or a URL/),
      })
    },
  )

  it.each(['localhost/app', 'http://s3cret@localhost', 'postgres//s3cret', 'postgres://app:s3cret@[::1', ''])(
    'the URL %j, and never shows it',
    (url) => {
      const { code, message } = refusal(() => postgresStore(url))
      expect(code).toBe('INVALID_OPTION')
      expect(message).not.toContain('s3cret')
    },
  )

  it('a URL given to createLocks, and never shows it', () => {
    const { code, message } = refusal(() => createLocks('postgres://app:s3cret@host:port/db'))
    expect(code).toBe('INVALID_OPTION')
    expect(message).not.toContain('s3cret')
  })
})

describe('a URL that only the driver finds unreadable is never shown, nor any part of it', () => {
  const url = 'postgres://app:s3cret,b#c@host/db'
  const says = {
    code: 'INVALID_OPTION',
    message: expect.stringMatching(/URL cannot be read; .*percent-encoded/),
  }

  it('by pg', async () => {
    const error = await postgresStore(url)
      .open?.()
      .catch((reason: unknown) => reason)
    expect(error).toMatchObject(says)
    expect(inspect(error)).not.toContain('s3cret')
  })

  it('by postgres.js, which puts it into its error', () => {
    let thrown: unknown
    try {
      postgres(url)
    } catch (error) {
      thrown = error
    }
    expect(inspect(thrown)).toContain('s3cret')
    const error = asLockError(thrown, DEFAULT_NAMES)
    expect(error).toMatchObject(says)
    expect(inspect(error)).not.toContain('s3cret')
  })
})

describe('postgresSql', () => {
  it('is what the store would create, with both names in quotes', () => {
    const sql = postgresSql({ schema: 'Ops', table: 'select' })
    expect(sql).toMatch(/^create schema if not exists "Ops";\ncreate table if not exists "Ops"."select" \(/)
    expect(postgresSql()).toContain('"public"."holdfast_locks"')
  })
})
