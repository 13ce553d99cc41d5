import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { processTree, survivors } from '../servers/process-tree.ts'
import { startPgBouncer } from '../servers/pgbouncer.ts'
import { type PostgresServer, startPostgres, startStandby } from '../servers/postgres.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'

const endings: (() => unknown)[] = []

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  endings.push(() => client.end().catch(() => {}))
  return client
}

async function valueOf(client: pg.Client, statement: string): Promise<unknown> {
  const { rows } = await client.query<unknown[]>({ text: statement, rowMode: 'array' })
  return rows[0]?.[0]
}

async function until(what: string, holds: () => unknown): Promise<void> {
  const end = performance.now() + 20_000
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited in vain for: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Whether the segment that a running server has is still there. Told on Linux only. */
function sharedMemoryOf(folder: string): () => boolean {
  const id = readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[6]?.trim().split(/\s+/)[1]
  const list = '/proc/sysvipc/shm'
  const isThere = (): boolean =>
    existsSync(list) &&
    readFileSync(list, 'utf8')
      .split('\n')
      .some((line) => line.trim().split(/\s+/)[1] === id)
  expect(isThere()).toBe(existsSync(list))
  return isThere
}

describe('the shared PostgreSQL', () => {
  it('gives each caller an empty database of its own', async () => {
    const [one, other] = await Promise.all([freshDatabase(), freshDatabase()])
    const [first, second] = [await connect(one), await connect(other)]
    await first.query('create table mine ()')
    expect(await valueOf(first, `select to_regclass('mine')::text`)).toBe('mine')
    expect(await valueOf(second, `select to_regclass('mine')::text`)).toBeNull()
  })
})

describe('a PostgreSQL of one test', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres({ settings: { lock_timeout: '1234ms' } })
  })
  afterAll(() => server.stop())

  it('is durable and takes settings', async () => {
    const client = await connect(server.url)
    const expected = {
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      server_encoding: 'UTF8',
      lock_timeout: '1234ms',
    }
    for (const [name, value] of Object.entries(expected))
      expect(await valueOf(client, `show ${name}`)).toBe(value)
  })

  it.each(['fast', 'immediate'] as const)('keeps port and data when it restarts, %s', async (mode) => {
    const { pid } = server
    const before = await connect(server.url)
    await before.query(`create table kept_${mode} as select 42 as answer`)
    const cut = new Promise<void>((resolve) => before.once('end', resolve))
    await server.restart(mode)
    await cut
    expect(server.pid).not.toBe(pid)
    expect(await valueOf(await connect(server.url), `select answer from kept_${mode}`)).toBe(42)
  })

  it('stands still while it is paused, and then goes on as if nothing had been', async () => {
    const client = await connect(server.url)
    await server.pause()
    let answered = false
    const answer = valueOf(client, 'select 7').finally(() => (answered = true))
    const newcomer = new pg.Client({ connectionString: server.url, connectionTimeoutMillis: 300 })
    await expect(newcomer.connect()).rejects.toThrow('timeout')
    expect(answered).toBe(false)
    server.resume()
    expect(await answer).toBe(7)
  })

  it('is killed with all its children, and recovers what was committed', async () => {
    const client = await connect(server.url)
    await client.query('create table kept_on as select 42 as answer')
    const pids = processTree(server.pid)
    expect(pids).toContain(await valueOf(client, 'select pg_backend_pid()'))
    await server.kill()
    expect(survivors(pids)).toEqual([])
    await server.start()
    expect(await valueOf(await connect(server.url), 'select answer from kept_on')).toBe(42)
  })
})

describe('several PostgreSQLs', () => {
  it('start at the same time', async () => {
    const all = await Promise.all([startPostgres(), startPostgres()])
    for (const server of all) endings.push(() => server.stop())
    const places = await Promise.all(
      all.map(async ({ url }) => valueOf(await connect(url), 'show data_directory')),
    )
    expect(new Set(places).size).toBe(2)
  })

  it.each(['running', 'paused', 'killed'])(
    'leaves nothing behind when it is stopped while %s',
    async (state) => {
      const server = await startPostgres()
      const client = await connect(server.url)
      const folder = String(await valueOf(client, 'show data_directory'))
      const pids = processTree(server.pid)
      const memory = sharedMemoryOf(folder)
      if (state === 'paused') await server.pause()
      if (state === 'killed') await server.kill()
      await server.stop()
      expect(survivors(pids)).toEqual([])
      expect(existsSync(folder)).toBe(false)
      expect(memory()).toBe(false)
    },
  )

  it.each(['running', 'paused'])(
    'does not outlive a process that is killed while it is %s',
    async (state) => {
      const child = fork(
        fileURLToPath(new URL('../servers/fixtures/postgres-owner.ts', import.meta.url)),
        [state],
        {
          execArgv: ['--import', 'tsx', '--no-warnings'],
        },
      )
      const [{ pids, folder }] = (await once(child, 'message')) as [{ pids: number[]; folder: string }]
      // The others of its processes come and go by themselves.
      expect(survivors(pids.slice(0, 1))).toHaveLength(1)
      child.kill('SIGKILL')
      await until(
        'the server and its folder to go',
        () => survivors(pids).length === 0 && !existsSync(folder),
      )
    },
  )

  it('shows the log of a server that does not start', async () => {
    await expect(startPostgres({ settings: { wal_level: 'nonsense' } })).rejects.toThrow(
      /ended instead of starting[^]*invalid value for parameter "wal_level": "nonsense"/,
    )
  })

  it('has a standby that only reads, until it is promoted', async () => {
    const primary = await startPostgres()
    endings.push(() => primary.stop())
    const standby = await startStandby(primary)
    endings.push(() => standby.stop())
    const [writer, reader] = [await connect(primary.url), await connect(standby.url)]
    await writer.query('create table followed as select 42 as answer')
    await until(
      'the standby to follow',
      async () => (await valueOf(reader, `select to_regclass('followed')::text`)) !== null,
    )
    await expect(reader.query('insert into followed values (43)')).rejects.toMatchObject({ code: '25006' })
    await standby.promote()
    await reader.query('insert into followed values (43)')
  })
  it('can be reached through a PgBouncer that gives each transaction any connection', async () => {
    const url = await freshDatabase()
    const pooler = await startPgBouncer(url, { mode: 'transaction', settings: { default_pool_size: 1 } })
    endings.push(() => pooler.stop())
    const [one, other] = [await connect(pooler.url), await connect(pooler.url)]
    expect(await valueOf(one, 'select current_database()')).toBe(new URL(url).pathname.slice(1))
    const backends = await Promise.all(
      [one, other].map((client) => valueOf(client, 'select pg_backend_pid()')),
    )
    expect(backends[0]).toBe(backends[1])
    await Promise.all([one.end(), other.end()])
    await pooler.stop()
    expect(survivors([pooler.pid])).toEqual([])
    await expect(connect(pooler.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})
