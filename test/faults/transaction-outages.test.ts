import pg from 'pg'
import { beforeEach, describe, expect, it } from 'vitest'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { tcpProxy, type TcpProxy } from '../servers/tcp-proxy.ts'
import {
  atEnd,
  drivers,
  failureWithin,
  heldKeys,
  memoryLocks,
  observe,
  until,
} from '../support/transaction-stage.ts'
import type { Opened, Tx } from '../support/transaction-drivers.ts'

/** The cause is in the words of the server, of the driver or of the network. There was no pause to blame. */
const LOST = {
  code: 'STORE_UNAVAILABLE',
  key: 'key',
  outcomeUnknown: false,
  message: expect.stringMatching(/was lost before COMMIT, so nothing is stored: (?!.*pause)/),
  cause: expect.any(Error),
}

const url = await freshDatabase()
const observer = await observe(url)
const { rows } = observer

beforeEach(() => observer.run('truncate t'))

async function throughProxy(): Promise<{ proxy: TcpProxy; url: string }> {
  const target = new URL(url)
  const proxy = await tcpProxy(Number(target.port))
  atEnd(() => proxy.close())
  target.host = `127.0.0.1:${proxy.port}`
  return { proxy, url: target.href }
}

async function backendOf(tx: Tx): Promise<number> {
  const [row] = await tx.run('select pg_backend_pid() as pid')
  return (row as { pid: number }).pid
}

async function isGone(pid: number): Promise<boolean> {
  return (await observer.run('select 1 from pg_stat_activity where pid = $1', pid)).length === 0
}

/** Ends a session, as the server's administrator. */
async function terminate(pid: number): Promise<void> {
  await observer.run('select pg_terminate_backend($1)', pid)
  await until('the session to end', () => isGone(pid))
}

/** The news that a session was ended takes a moment to arrive. */
async function untilRefused(tx: Tx): Promise<void> {
  const refused = (): Promise<boolean> =>
    tx.run('select 1').then(
      () => false,
      () => true,
    )
  await until('an error', refused)
}

/** As a task of its own would, from now on: nothing of the failure before is left. */
async function expectToWork({ transaction }: Opened): Promise<void> {
  await observer.run('truncate t')
  await transaction(memoryLocks(), 'key', (tx) => tx.run('insert into t values (9)'))
  expect(await rows()).toEqual([9])
}

describe.each(drivers)('on $name', (driver) => {
  it('a lost reply to COMMIT: the outcome is unknown, and the key is free', async () => {
    const { proxy, url: proxied } = await throughProxy()
    const locks = memoryLocks()
    const opened = await driver.open(proxied, 1)
    await opened.transaction(locks, 'key', () => undefined)
    const call = opened.transaction(
      locks,
      'key',
      async (tx) => {
        await tx.run('insert into t values (1)')
        proxy.dropReplies()
      },
      { lease: 3000 },
    )
    expect(await failureWithin(4000, call)).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      key: 'key',
      outcomeUnknown: true,
      message: expect.stringMatching(/outcome .* is unknown.*may have been committed or not/),
      cause: expect.objectContaining({ message: expect.stringMatching(/no answer came within/) }),
    })
    expect(await heldKeys(locks)).toEqual([])
    // Here it was.
    expect(await rows()).toEqual([1])
  })

  it('a connection that is cut while COMMIT is under way: the outcome is unknown, at once', async () => {
    const { proxy, url: proxied } = await throughProxy()
    const locks = memoryLocks()
    const opened = await driver.open(proxied, 1)
    const call = opened.transaction(locks, 'key', async (tx) => {
      await tx.run('insert into t values (1)')
      proxy.dropReplies()
    })
    const error = call.then(undefined, (reason: unknown) => reason)
    await until('the commit', async () => (await rows()).length === 1)
    proxy.thaw()
    proxy.cut()
    expect(await error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/is unknown/),
      cause: expect.any(Error),
    })
    expect(await heldKeys(locks)).toEqual([])
    if (driver.pooled) await expectToWork(opened)
  })

  it('BEGIN without an answer: given up after a third of the lease, and nothing is left', async () => {
    const { proxy, url: proxied } = await throughProxy()
    const locks = memoryLocks()
    const opened = await driver.open(proxied, 1)
    await expectToWork(opened)
    proxy.freeze()
    let called = false
    const call = opened.transaction(locks, 'key', () => (called = true), { lease: 3000 })
    expect(await failureWithin(2000, call)).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/could not begin, nothing was done/),
    })
    expect(called).toBe(false)
    expect(await heldKeys(locks)).toEqual([])
    proxy.thaw()
    if (driver.pooled) await expectToWork(opened)
  })

  it('ROLLBACK without an answer does not hide the error of the function', async () => {
    const { proxy, url: proxied } = await throughProxy()
    const locks = memoryLocks()
    const opened = await driver.open(proxied, 2)
    const own = new Error('own')
    const start = performance.now()
    const call = opened.transaction(
      locks,
      'key',
      async (tx) => {
        await tx.run('insert into t values (1)')
        proxy.strand()
        throw own
      },
      { lease: 3000 },
    )
    await expect(call).rejects.toBe(own)
    expect(performance.now() - start).toBeLessThan(3000)
    expect(await heldKeys(locks)).toEqual([])
    // The server ends what it hears nothing of, and the client goes on with another connection.
    if (driver.pooled) await expectToWork(opened)
    expect(await rows()).toEqual(driver.pooled ? [9] : [])
  })

  it('a session that is ended while the function runs: its next statement fails, nothing is stored', async () => {
    const locks = memoryLocks()
    const opened = await driver.open(url)
    const call = opened.transaction(locks, 'key', async (tx) => {
      await tx.run('insert into t values (1)')
      await terminate(await backendOf(tx))
      await tx.run('insert into t values (2)')
    })
    await expect(call).rejects.toMatchObject(LOST)
    expect(await rows()).toEqual([])
    expect(await heldKeys(locks)).toEqual([])
    if (driver.pooled) await expectToWork(opened)
  })

  it('a session that is ended during a statement: the function may go on, and fails', async () => {
    const locks = memoryLocks()
    const opened = await driver.open(url)
    const errors: unknown[] = []
    const call = opened.transaction(locks, 'key', async (tx) => {
      await tx.run('insert into t values (1)')
      const pid = await backendOf(tx)
      const sleeping = tx.run('select pg_sleep(100)')
      const again = sleeping.catch((error: unknown) => {
        errors.push(error)
        return tx.run('insert into t values (2)')
      })
      await Promise.all([again.catch((error: unknown) => errors.push(error)), terminate(pid)])
      await again
    })
    await expect(call).rejects.toMatchObject(LOST)
    expect(errors).toHaveLength(2)
    expect(await rows()).toEqual([])
    expect(await heldKeys(locks)).toEqual([])
    if (driver.pooled) await expectToWork(opened)
  })

  it("a session that is ended during a statement, and the function's error is the driver's: nothing is stored", async () => {
    const locks = memoryLocks()
    const opened = await driver.open(url)
    const call = opened.transaction(locks, 'key', async (tx) => {
      const pid = await backendOf(tx)
      await Promise.all([tx.run('select pg_sleep(100)'), terminate(pid)])
    })
    await expect(call).rejects.toMatchObject(LOST)
    expect(await heldKeys(locks)).toEqual([])
    if (driver.pooled) await expectToWork(opened)
  })

  it('a session that is ended during a statement, and the function hides it: nothing is stored, and that is known', async () => {
    const opened = await driver.open(url)
    const call = opened.transaction(memoryLocks(), 'key', async (tx) => {
      await tx.run('insert into t values (1)')
      const pid = await backendOf(tx)
      const sleeping = tx.run('select pg_sleep(100)').catch(() => undefined)
      await observer.run('select pg_terminate_backend($1)', pid)
      await sleeping
    })
    await expect(call).rejects.toMatchObject(LOST)
    expect(await rows()).toEqual([])
    if (driver.pooled) await expectToWork(opened)
  })

  it('a session that is ended: another error of the function is passed on as it is', async () => {
    const opened = await driver.open(url)
    // As of a call to another service.
    const own = Object.assign(new Error('own'), { code: 'ECONNRESET' })
    const call = opened.transaction(memoryLocks(), 'key', async (tx) => {
      await terminate(await backendOf(tx))
      await untilRefused(tx)
      throw own
    })
    await expect(call).rejects.toBe(own)
    if (driver.pooled) await expectToWork(opened)
  })

  it('a session that is ended and then not used: no success', async () => {
    const locks = memoryLocks()
    const opened = await driver.open(url)
    const call = opened.transaction(locks, 'key', async (tx) => {
      await tx.run('insert into t values (1)')
      await terminate(await backendOf(tx))
      await untilRefused(tx)
    })
    await expect(call).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', cause: expect.any(Error) })
    expect(await rows()).toEqual([])
    if (driver.pooled) await expectToWork(opened)
  })

  it('a pause longer than a third of the lease is ended by the server; it says why', async () => {
    const locks = memoryLocks()
    const opened = await driver.open(url)
    await opened.transaction(locks, 'key', () => undefined)
    let pid = 0
    const call = opened.transaction(
      locks,
      'key',
      async (tx) => {
        await tx.run('insert into t values (1)')
        pid = await backendOf(tx)
        await until('the server to end the session', () => isGone(pid))
        await untilRefused(tx)
      },
      { lease: 1500 },
    )
    await expect(call).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/nothing is stored.*a pause between two statements may take 500 ms/),
    })
    expect(await rows()).toEqual([])
    if (driver.pooled) await expectToWork(opened)
  })

  it('a statement longer than a third of the lease is cancelled', async () => {
    const opened = await driver.open(url, 1)
    // Connected, and with a table for the guard: neither has to fit into that third.
    await expectToWork(opened)
    const call = opened.transaction(memoryLocks(), 'key', (tx) => tx.run('select pg_sleep(10)'), {
      lease: 900,
    })
    await expect(call).rejects.toMatchObject({ code: '57014' })
    await expectToWork(opened)
  })

  it('a guard that another transaction has locked is waited for, but not for ever', async () => {
    const opened = await driver.open(url)
    await opened.transaction(memoryLocks(), 'key', () => undefined)
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    atEnd(() => other.end())
    await other.query("begin; select * from holdfast_fence where resource = 'key' for update")
    const call = opened.transaction(memoryLocks(), 'key', () => 1, { lease: 1500 })
    await expect(call).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/the guard's row stayed locked for (4[5-9]|[5-9]\d|\d\d\d)\d ms/),
    })
    await other.query('commit')
    await expectToWork(opened)
  })
})

it('a check that somebody cancels is no row that stays locked: STORE_UNAVAILABLE, and it says what was in the way', async () => {
  const pool = new pg.Pool({ connectionString: url })
  atEnd(() => pool.end())
  const locks = memoryLocks()
  await locks.transaction('key', pool, () => undefined)
  const other = await pool.connect()
  atEnd(() => other.release())
  await other.query("begin; select * from holdfast_fence where resource = 'key' for update")
  const call = locks.transaction('key', pool, () => 1, { lease: 60_000 })
  call.catch(() => undefined)
  const waiting = "from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
  await until('the check to wait', async () => (await observer.run(`select 1 ${waiting}`)).length > 0)
  await observer.run(`select pg_cancel_backend(pid) ${waiting}`)
  await expect(call).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringMatching(/could not begin, nothing was done: (?!.*stayed locked).*user request/),
    cause: { code: '57014' },
  })
  await other.query('rollback')
})

describe.each(drivers.filter(({ pooled }) => pooled))('on $name', (driver) => {
  it('all connections in use: STORE_UNAVAILABLE after a third of the lease, and it says why', async () => {
    const locks = memoryLocks()
    const opened = await driver.open(url, 1)
    await expectToWork(opened)
    let leave!: () => void
    const stay = new Promise<void>((resolve) => (leave = resolve))
    let inside = false
    const first = opened.transaction(locks, 'other', () => {
      inside = true
      return stay
    })
    await until('the first to be inside', () => inside)
    let called = false
    const call = opened.transaction(locks, 'key', () => (called = true), { lease: 900 })
    await expect(call).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(
        /(within 300 ms \(1 open, 0 idle, 1 waiting\); make the pool larger|connections of the client are in use)/,
      ),
    })
    expect(await heldKeys(locks)).toEqual(['other'])
    leave()
    await first
    // The connection that came too late went back.
    await expectToWork(opened)
    expect(called).toBe(false)
  })
})
