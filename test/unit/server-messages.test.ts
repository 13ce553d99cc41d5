import { expect, it } from 'vitest'
import { LockError, type LockErrorCode } from '../../src/errors.ts'
import { createLocks } from '../../src/locks.ts'
import { lockServer, type StatsJson } from '../../src/server/index.ts'
import { publicMessage } from '../../src/server/public-message.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { dataOf, ORIGIN, serverStage, Stream, TOKEN } from './support/server-stage.ts'

const headers = { authorization: `Bearer ${TOKEN}`, origin: ORIGIN }
const SECRETS = /10\.0\.0\.5|root|locks\.db/

it.each<[LockErrorCode, string, string]>([
  [
    'STORE_UNAVAILABLE',
    'the redis store failed: connect ECONNREFUSED 10.0.0.5:6379',
    'the redis store failed',
  ],
  [
    'STORE_UNAVAILABLE',
    'the postgres store cannot use "locks": it is down (no entry for user "root", 10.0.0.5)',
    'the postgres store cannot be used',
  ],
  [
    'STORE_UNAVAILABLE',
    'the sqlite store cannot use /home/root/locks.db: disk I/O error',
    'the sqlite store cannot be used',
  ],
  [
    'STORE_UNAVAILABLE',
    'no renewal was confirmed; the last attempt failed: the redis store failed: connect 10.0.0.5:6379',
    'no renewal was confirmed; the last attempt failed: the redis store failed',
  ],
  [
    'STORE_UNAVAILABLE',
    'the mysql store cannot use 10.0.0.5: no "a; the last attempt failed: b"',
    'the mysql store cannot be used; the last attempt failed: b"',
  ],
  [
    'INVALID_OPTION',
    'sqliteStore: the table t in /home/root/locks.db is not one of holdfast',
    'the store cannot be used as it is configured',
  ],
])(
  'tells nobody over the network what a driver says, and that the store is at fault: %s, %s',
  async (code, message, said) => {
    const store = memoryStore()
    store.list = () => Promise.reject(new LockError(code, message, { cause: new Error(message) }))
    const locks = createLocks(store, { logger: null })
    const heard: string[] = []
    locks.on('error', ({ error }) => heard.push(error.message))
    const server = lockServer(locks, { token: TOKEN })
    const get = (path: string): Promise<Response> => server(new Request(ORIGIN + path, { headers }))
    const reader = new Stream(await get('/api/events'))
    const listed = await get('/api/locks')
    expect([listed.status, await listed.json()]).toMatchObject([503, { detail: said }])
    const { store: state } = (await (await get('/api/stats')).json()) as StatsJson
    expect(state).toMatchObject({ ok: false, error: said })
    await locks.close()
    expect(dataOf(reader.messages, 'store')).toMatchObject([{ ok: false, error: said }])
    expect(JSON.stringify(reader.messages)).not.toMatch(SECRETS)
    // Who runs the process is told all of it.
    expect(heard).toEqual([message])
  },
)

it('tells nobody over the network why a lease was lost', async () => {
  const { locks, store, time, stream } = serverStage()
  const reader = await stream()
  await locks.acquire('k', { lease: '1s' })
  const error = new LockError(
    'STORE_UNAVAILABLE',
    'the redis store failed: password of root refused at 10.0.0.5',
  )
  store.renew = () => Promise.reject(error)
  await time.advance(2000)
  const lost = dataOf(reader.messages, 'event').filter(({ name }) => name === 'lost')
  expect(lost).toMatchObject([
    { key: 'k', text: expect.stringMatching(/last attempt failed: the \w+ store failed$/) },
  ])
  expect(JSON.stringify(reader.messages)).not.toMatch(SECRETS)
  await locks.close()
})

it('tells nobody over the network where a file is', async () => {
  const locks = createLocks('sqlite:/nowhere/root/locks.db', { logger: null })
  const server = lockServer(locks, { token: TOKEN })
  const listed = await server(new Request(`${ORIGIN}/api/locks`, { headers }))
  expect([listed.status, await listed.json()]).toMatchObject([
    503,
    { detail: 'the sqlite store cannot be used' },
  ])
  await locks.close()
})

it('tells nobody over the network why the server itself failed', async () => {
  const { locks, time, stream, ask } = serverStage({
    audit: () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.5:5432 as root')),
  })
  const heard: string[] = []
  locks.on('error', ({ error }) => heard.push(error.message))
  await locks.acquire('a')
  const reader = await stream()
  await time.settle()
  expect(await ask('/api/locks/a?grant=1', { method: 'DELETE' })).toMatchObject({ status: 503 })
  await time.settle()
  expect(dataOf(reader.take(), 'event')).toMatchObject([{ name: 'error', text: 'the lock server failed' }])
  expect(heard.join()).toMatch(SECRETS)
})

it('leaves all other messages as they are', () => {
  for (const message of [
    'the trial store did not answer within 500 ms',
    'webhook of alerts at https://example.com: it answered 404, and the alert was dropped',
    'could not tell the store that "a: b" is free; it will be told again until its lease runs out',
  ])
    expect(publicMessage(message)).toBe(message)
})
