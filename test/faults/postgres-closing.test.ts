import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import pg from 'pg'
import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { everyClient } from '../support/postgres-drivers.ts'
import { askFor, grantOf } from '../support/asks.ts'
import {
  atEnd,
  atLast,
  failureOf,
  locksOn,
  observe,
  oneProcess,
  poolOn,
  proxyTo,
  storeOn,
  until,
} from '../support/postgres-stage.ts'

const url = await freshDatabase()
const query = observe(url)

/** All connections but those that the tests look through. */
async function connections(): Promise<number> {
  const [row] = await query(
    `select count(*)::int as n from pg_stat_activity
     where datname = current_database() and application_name <> 'observer'`,
  )
  return Number(row?.n)
}

async function waitersOf(key: string): Promise<unknown> {
  const [row] = await query('select waiters from holdfast_locks where key = $1', key)
  return row?.waiters
}

async function heldKeys(): Promise<unknown[]> {
  const rows = await query('select key from holdfast_locks where owner is not null and expires_at > now()')
  return rows.map(({ key }) => key)
}

describe.each(everyClient)('G12 after close() on $name', (client) => {
  it('no connection of ours, name on a list, or key is left, and what was given works on', async () => {
    const given = await client.open(url)
    const before = await connections()
    const [locks, others] = [locksOn(storeOn(given)), locksOn(url)]
    const key = `closed on ${client.name}`
    await others.acquire(key)
    await locks.acquire(`${key}, held`)
    const turn = failureOf(locks.acquire(key, { wait: '30s' }))
    // A client that is one connection listens there, too.
    await until('its name on the list', async () => ((await waitersOf(key)) as unknown[]).length === 1)
    await locks.close()
    expect(await turn).toMatchObject({ code: 'CLOSED' })
    expect(await waitersOf(key)).toEqual([])
    expect(await heldKeys()).toEqual([key])
    await others.close()
    if (typeof given === 'string') {
      await until('no connections', async () => (await connections()) === before)
      return
    }
    // What it has opened of itself is its owner's.
    await until('few connections', async () => (await connections()) <= 4)
    const again = storeOn(given)
    await grantOf(again, askFor(`${key}, again`, { leaseMs: 1 }))
    if ('listenerCount' in given) {
      const emitter = given as unknown as { listenerCount(event: string): number }
      await again.close()
      // Its owner's own.
      expect(emitter.listenerCount('error')).toBe(1)
      expect(emitter.listenerCount('notification')).toBe(0)
    }
  })
})

it('G12 a store that is closed while someone watches takes its name off the lists', async () => {
  const [store, others] = [storeOn(url), storeOn(url)]
  await grantOf(others, askFor('watched'))
  await store.acquire([askFor('watched')])
  store.watch?.(() => {}).add('watched')
  await until('its name on the list', async () => ((await waitersOf('watched')) as unknown[]).length === 1)
  await store.close()
  expect(await waitersOf('watched')).toEqual([])
})

it.concurrent.each([
  ['a URL', (silent: string) => silent],
  [
    'a pool of pg',
    (silent: string) => new pg.Pool({ connectionString: silent, max: 1 }).on('error', () => {}),
  ],
  ['postgres.js', (silent: string) => postgres(silent, { max: 1, onnotice: () => {} })],
] as const)(
  'G12 %s: attempts to listen to a server that says nothing leave no connections',
  async (_, open) => {
    const server = await silentServer()
    const store = postgresStore(open(server.url))
    store.watch?.(() => {}).add('any')
    await until('some attempts', () => server.accepted() >= 4)
    await store.close()
    // One is of the pool that was given.
    await until('no more than one', () => server.open.size <= 1)
  },
)

describe('G12 a program', () => {
  it('ends by itself after close(), with nothing to complain about', async () => {
    const child = await oneProcess()
    await child.call('start', url)
    await child.call('acquire', 'to be closed')
    await child.call('close')
    await child.call('letGo')
    expect(await child.ended).toBe(0)
    expect(await child.complaints).toBe('')
  })

  it('ends by itself without close() once its work is done', async () => {
    const child = await oneProcess()
    await child.call('start', url)
    const lease = await locksOn(url).acquire('waited for')
    // So that it listens, too.
    const turn = child.call('acquire', 'waited for', { wait: '30s' })
    await until(
      'its name on the list',
      async () => ((await waitersOf('waited for')) as unknown[]).length === 1,
    )
    await lease.release()
    await turn
    await child.call('release', 'waited for')
    await child.call('letGo')
    const start = performance.now()
    expect(await child.ended).toBe(0)
    expect(performance.now() - start).toBeLessThan(3000)
    expect(await child.complaints).toBe('')
  })

  it('G7 lives on when the server ends a connection in the moment that it is opened', async () => {
    const child = await oneProcess()
    await child.call('start', await shortWelcome())
    for (let i = 0; i < 3; i += 1) {
      expect(await failureOf(child.call('list'))).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    }
    await child.call('letGo')
    expect(await child.ended).toBe(0)
    expect(await child.complaints).toBe('')
  })

  it('G7 lives on when the server ends all its connections, idle ones too', async () => {
    const child = await oneProcess()
    await child.call('start', url)
    const others = locksOn(url)
    const lease = await others.acquire('in the way')
    const turn = child.call<{ token: string }>('acquire', 'in the way', { wait: '30s' })
    await until(
      'its name on the list',
      async () => ((await waitersOf('in the way')) as unknown[]).length === 1,
    )
    for (let round = 0; round < 5; round += 1) {
      await query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'holdfast'`,
      )
      await child.call('acquire', `round ${round}`)
    }
    await lease.release()
    expect(BigInt((await turn).token)).toBeGreaterThan(lease.token)
    await child.call('close')
    await child.call('letGo')
    expect(await child.ended).toBe(0)
    expect(await child.complaints).toBe('')
  })
})

/** A server whose welcome and farewell to every client come in one packet, as by chance they may. */
function message(type: string, body: Buffer): Buffer {
  const head = Buffer.from(`${type}1234`)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/** Takes connections and lets nobody in. It keeps them until they are destroyed, not only ended. */
async function silentServer(): Promise<{ url: string; open: Set<Socket>; accepted: () => number }> {
  const open = new Set<Socket>()
  let accepted = 0
  const listener = createServer({ allowHalfOpen: true }, (socket) => {
    accepted += 1
    open.add(socket.resume())
    // By the answer to something that means nothing it notices that nobody is there any more.
    const beat = setInterval(() => socket.write(message('N', Buffer.alloc(1))), 100)
    socket.on('error', () => {})
    socket.once('close', () => {
      clearInterval(beat)
      open.delete(socket)
    })
  })
  await once(listener.listen(0, '127.0.0.1'), 'listening')
  atLast(() => {
    for (const socket of open) socket.destroy()
    listener.close()
  })
  const { port } = listener.address() as AddressInfo
  return { url: `postgres://user@127.0.0.1:${port}/any`, open, accepted: () => accepted }
}

async function shortWelcome(): Promise<string> {
  const packet = Buffer.concat([
    message('R', Buffer.alloc(4)),
    message('Z', Buffer.from('I')),
    message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0')),
  ])
  const listener = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(packet))
  })
  await once(listener.listen(0, '127.0.0.1'), 'listening')
  atEnd(() => listener.close())
  return `postgres://user@127.0.0.1:${(listener.address() as AddressInfo).port}/any`
}

describe('G7 close() while the network is silent', () => {
  it.each(everyClient)('on $name: takes a few calls, and no longer', async (client) => {
    const { proxy, url: proxied } = await proxyTo(url)
    const [locks, others] = [locksOn(storeOn(await client.open(proxied))), locksOn(url)]
    const bare = storeOn(await client.open(proxied))
    await bare.open()
    const key = `silent around ${client.name}`
    await others.acquire(key)
    await locks.acquire(`${key}, held`, { lease: '1s' })
    const turn = failureOf(locks.acquire(key, { wait: '30s' }))
    await until('its name on the list', async () => ((await waitersOf(key)) as unknown[]).length === 1)
    proxy.freeze()
    const start = performance.now()
    await Promise.all([locks.close(), bare.close()])
    expect(await turn).toMatchObject({ code: 'CLOSED' })
    expect(performance.now() - start).toBeLessThan(13_000)
  })

  it('a program ends all the same', async () => {
    const { proxy, url: proxied } = await proxyTo(url)
    const child = await oneProcess()
    await child.call('start', proxied)
    await locksOn(url).acquire('not free')
    await child.call('acquire', 'its own')
    const turn = failureOf(child.call('acquire', 'not free', { wait: '30s' }))
    await until('its name on the list', async () => ((await waitersOf('not free')) as unknown[]).length === 1)
    proxy.freeze()
    await child.call('close')
    expect(await turn).toMatchObject({ code: 'CLOSED' })
    await child.call('letGo')
    const start = performance.now()
    expect(await child.ended).toBe(0)
    expect(performance.now() - start).toBeLessThan(5000)
    expect(await child.complaints).toBe('')
  })
})

it('G7 calls that are under way when the store of a URL is closed are answered, or told so at once', async () => {
  const store = postgresStore(url)
  await store.open()
  const calls = Array.from({ length: 6 }, () =>
    store.list({ limit: 1 }).then(
      () => 'answered',
      (error: { code?: string }) => error.code,
    ),
  )
  const start = performance.now()
  await store.close()
  for (const outcome of await Promise.all(calls)) expect(outcome).toMatch(/^(answered|CLOSED)$/)
  expect(performance.now() - start).toBeLessThan(1000)
})

it('G7 a pool whose idle connections are ended by the server does not end the process', async () => {
  const pool = poolOn(url, { application_name: 'idle' })
  const store = storeOn(pool, { listen: false })
  await Promise.all(Array.from({ length: 5 }, (_, i) => grantOf(store, askFor(`idle ${i}`))))
  await query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'idle'")
  await until('the news', () => pool.totalCount === 0)
  await grantOf(store, askFor('after that'))
})
