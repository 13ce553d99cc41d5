import { expect, it } from 'vitest'
import { startPostgres, startStandby } from '../servers/postgres.ts'
import { everyClient } from '../support/postgres-drivers.ts'
import { atEnd, failureOf, locksOn, storeOn } from '../support/postgres-stage.ts'

it('G3 G7 a standby refuses and says so; once it is promoted the next call works, and tokens rise', async () => {
  const primary = await startPostgres()
  atEnd(() => primary.stop())
  const before = await locksOn(primary.url).acquire('key')
  await before.release()

  const standby = await startStandby(primary)
  atEnd(() => standby.stop())
  const all = await Promise.all(
    everyClient.map(async (client) => locksOn(storeOn(await client.open(standby.url)))),
  )
  for (const locks of all) {
    const error = await failureOf(locks.tryAcquire('key'))
    expect(error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/read-only, as a standby is; connect to the primary/),
      cause: expect.objectContaining({ code: '25006' }),
    })
    // What only reads, works.
    expect((await locks.list()).locks).toEqual([])
  }

  await standby.promote()
  let { token } = before
  for (const locks of all) {
    const lease = await locks.acquire('key')
    expect(lease.token).toBeGreaterThan(token)
    token = lease.token
    await lease.release()
  }
})

it('G7 a standby without the table says that it is read-only, not that something is wrong with the table', async () => {
  const primary = await startPostgres()
  atEnd(() => primary.stop())
  const standby = await startStandby(primary)
  atEnd(() => standby.stop())
  const locks = locksOn(standby.url)
  expect(await failureOf(locks.tryAcquire('key'))).toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringMatching(/read-only/),
  })
  await standby.promote()
  expect(await locks.tryAcquire('key')).not.toBeNull()
})
