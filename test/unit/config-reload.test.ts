import { describe, expect, it } from 'vitest'
import { locksFromConfig } from '../../src/config/index.ts'
import { Centre, open, stage } from './support/config-centre.ts'
import { VirtualTime } from './support/virtual-time.ts'
import { track } from './support/world.ts'

describe('a change', () => {
  it('counts for acquisitions from then on, and drops no lease', async () => {
    const centre = new Centre({ lease: '10s' })
    const { arrive, leaseOf, locks, errors } = await stage(centre)
    const held = await locks.acquire('held')
    centre.give({ lease: '20s', keys: { 'report:*': { lease: '1m' } } })
    await arrive()
    expect(await leaseOf('a')).toBe(20_000)
    expect(await leaseOf('report:1')).toBe(60_000)
    expect(held.held).toBe(true)
    expect((await locks.inspect('held'))?.leaseMs).toBe(10_000)
    expect(await held.release()).toBe(true)
    expect(errors).toEqual([])
  })

  it('that takes a setting out returns it to its default', async () => {
    const centre = new Centre({ lease: '10s', wait: 0, keys: { 'a*': { lease: '1m' } } })
    const { time, arrive, leaseOf, locks } = await stage(centre)
    expect(await leaseOf('a')).toBe(60_000)
    centre.give({})
    await arrive()
    expect(await leaseOf('a')).toBe(30_000)
    await locks.acquire('taken')
    const waiting = track(locks.acquire('taken', { reentrant: false }))
    await time.advance(4900)
    expect(waiting.settled).toBe(false)
    await time.advance(200)
    expect(waiting.error).toMatchObject({ code: 'LOCK_ACQUIRE_TIMEOUT' })
  })

  it('gives way to the environment, too', async () => {
    const centre = new Centre({ lease: '10s' })
    const { arrive, leaseOf } = await stage(centre, { env: { HOLDFAST_LEASE: '15s' } })
    centre.give({ lease: '20s' })
    await arrive()
    expect(await leaseOf('a')).toBe(15_000)
  })

  it('that is not valid is reported once, as an event and a warning, and nothing of it counts', async () => {
    const centre = new Centre({ lease: '10s' })
    const warnings: string[] = []
    const logger = { warn: (line: string) => void warnings.push(line) }
    const { arrive, leaseOf, errors } = await stage(centre, { logger })
    for (let times = 0; times < 3; times += 1) {
      centre.give({ lease: '20s', wait: 'hunter2', keys: { 'a*': { leese: 1 } } })
      await arrive()
    }
    expect(await leaseOf('a')).toBe(10_000)
    expect(errors).toHaveLength(1)
    expect(errors[0]).toMatchObject({ code: 'INVALID_OPTION' })
    expect(errors[0]?.message).toMatch(
      /source: 2 problems: wait: give .*keys\["a\*"\]: unknown leese.* stay in force$/,
    )
    expect(warnings).toEqual([`holdfast: ${errors[0]?.message}`])
    centre.give({ lease: '25s' })
    await arrive()
    expect(await leaseOf('a')).toBe(25_000)
    centre.give(5)
    await arrive()
    expect(errors).toHaveLength(2)
  })

  it('of what needs a restart is reported once, and the rest of it counts', async () => {
    const centre = new Centre({ lease: '10s', service: 'one' })
    const { arrive, leaseOf, errors } = await stage(centre)
    for (const lease of ['20s', '21s']) {
      centre.give({ lease, service: 'two', callTimeout: '1s' })
      await arrive()
    }
    expect(await leaseOf('a')).toBe(21_000)
    expect(errors.map(({ message }) => message)).toEqual([
      'configuration: source: a change of service, callTimeout needs a restart; all else is in force',
    ])
    centre.give({ lease: '10s', service: 'one' })
    await arrive()
    expect(errors).toHaveLength(1)
  })

  it('of the store needs a restart, and one to a store that cannot be is refused', async () => {
    const centre = new Centre({ store: { url: 'sqlite:./a.db', table: 'a' } })
    const time = new VirtualTime()
    const locks = await locksFromConfig({ source: centre, env: {}, logger: null, environment: time })
    open.push(locks)
    const errors: string[] = []
    // A store is loaded when it is asked for, which takes real time.
    const told = (): Promise<string> =>
      new Promise((resolve) => {
        const off = locks.on('error', ({ error }) => {
          off()
          errors.push(error.message)
          resolve(error.message)
        })
      })
    const first = told()
    centre.give({ store: { table: 'a', url: 'sqlite:./a.db' } })
    await time.advance(200)
    centre.give({ store: 'postgres://u:hunter2@localhost/db' })
    await time.advance(200)
    expect(await first).toContain('a change of store needs a restart')
    const second = told()
    await time.advance(200)
    centre.give({ store: { url: 'postgres://u:hunter2@localhost/db', table: 'a', prefix: 'b' } })
    await time.advance(200)
    expect(await second).toContain('store.prefix: a PostgreSQL store has no such option')
    expect(errors).toHaveLength(2)
    expect(errors.join()).not.toContain('hunter2')
  })
})
