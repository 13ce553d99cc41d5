import { describe, expect, it } from 'vitest'
import { alertsOf } from '../../src/alerts/index.ts'
import { refusal } from './support/config.ts'
import { Centre, stage } from './support/config-centre.ts'

const SECRET = 'a secret of 16 characters'
const QUIET = { storeUnreachable: false, tokenJump: false } as const

describe('alerts in a configuration', () => {
  it('are raised if there is a block, though it be empty, and only then', async () => {
    for (const [config, count] of [
      [{}, 0],
      [{ alerts: {} }, 1],
    ] as const) {
      const { time, locks } = await stage(new Centre(config))
      await locks.acquire('k')
      await time.advance(310_000)
      expect(alertsOf(locks)).toHaveLength(count)
    }
  })

  it('change their limits with it, come and go with the block, and drop no incident for it', async () => {
    const centre = new Centre({ alerts: { ...QUIET, heldTooLong: '10s' } })
    const { time, arrive, locks, errors } = await stage(centre)
    const heard: string[] = []
    locks.on('alert', ({ state, incident }) => heard.push(`${state} ${incident}`))
    await locks.acquire('k')
    await time.advance(15_000)
    expect(heard).toHaveLength(1)
    centre.give({ alerts: { ...QUIET, heldTooLong: '12s', lost: 5 } })
    await arrive()
    await time.advance(20_000)
    expect(heard).toHaveLength(1)
    centre.give({ alerts: { ...QUIET, heldTooLong: false } })
    await arrive()
    expect(heard).toHaveLength(2)
    centre.give({ alerts: { ...QUIET, heldTooLong: '10s' } })
    await arrive()
    await time.advance(5000)
    expect(heard).toHaveLength(3)
    centre.give({})
    await arrive()
    expect([heard.length, alertsOf(locks)]).toEqual([4, []])
    centre.give({ alerts: { ...QUIET, heldTooLong: '10s' } })
    await arrive()
    await time.advance(5000)
    expect(alertsOf(locks)).toHaveLength(1)
    expect(errors).toEqual([])
  })

  it('keep the limits that hold when a change is not valid', async () => {
    const centre = new Centre({ alerts: { ...QUIET, heldTooLong: '10s' } })
    const { time, arrive, locks, errors } = await stage(centre)
    centre.give({ alerts: { heldTooLong: 'hunter2' } })
    await arrive()
    expect(errors).toHaveLength(1)
    expect(errors[0]!.message).toMatch(/alerts\.heldTooLong: give milliseconds .* or false; the last valid/)
    await locks.acquire('k')
    await time.advance(15_000)
    expect(alertsOf(locks)).toHaveLength(1)
  })

  it('need a restart for another webhook, and its limits count all the same', async () => {
    const centre = new Centre({ alerts: { ...QUIET, heldTooLong: false } })
    const { time, arrive, locks, errors } = await stage(centre)
    for (const heldTooLong of ['10s', '11s']) {
      centre.give({ alerts: { ...QUIET, heldTooLong, webhook: 'http://127.0.0.1:9/x', secret: SECRET } })
      await arrive()
    }
    expect(errors.map(({ message }) => message)).toEqual([
      'configuration: source: a change of the webhook of alerts, its secret, or alerts.every needs a restart; all else is in force',
    ])
    await locks.acquire('k')
    await time.advance(20_000)
    expect(alertsOf(locks)).toHaveLength(1)
  })

  it('take webhook and secret from variables', async () => {
    const env = { HOLDFAST_ALERT_WEBHOOK: 'http://127.0.0.1:9/x', HOLDFAST_ALERT_SECRET: '1234567890123456' }
    const { locks, errors } = await stage(new Centre({}), { env })
    expect([alertsOf(locks), errors]).toEqual([[], []])
  })

  it.each([
    [{ heldTooLong: 5 }, /alerts\.heldTooLong: give .*from 1000 ms/],
    [{ every: '5m' }, /alerts\.every: give .*from 1000 ms to 60000 ms$/],
    [{ lost: 0 }, /alerts\.lost: give a whole number from 1 to 1000000, or false/],
    [{ failureRate: { share: 3 } }, /alerts\.failureRate\.share: give a number above 0 and up to 1/],
    [{ failureRate: { shares: 0.3 } }, /alerts\.failureRate: unknown shares, known are share, least/],
    [{ failureRate: 0.3 }, /alerts\.failureRate: give an object/],
    [{ heldToLong: '5m' }, /alerts: unknown heldToLong, known are/],
    [{ webhook: 'https://hunter2.example/' }, /alerts\.secret: missing/],
    [{ secret: `hunter2${SECRET}` }, /alerts\.webhook: missing/],
    [{ webhook: 'file:///hunter2', secret: SECRET }, /alerts\.webhook: give an http or https URL/],
    [{ webhook: 'https://me:hunter2@host', secret: SECRET }, /alerts\.webhook: give an http or https URL/],
    [{ webhook: 'https://host', secret: 'hunter2' }, /alerts\.secret: give a text of 16/],
    [true, /alerts: give an object/],
  ])('are refused as %j, and no value is shown', async (alerts, message) => {
    const source = new Centre({ store: 'memory:', alerts })
    const told = await refusal({ source })
    expect(told).toMatch(message)
    expect(told).not.toContain('hunter2')
  })

  it('name the variable that is wrong', async () => {
    const env = {
      HOLDFAST_ALERT_WEBHOOK: 'ftp://x',
      HOLDFAST_ALERT_SECRET: SECRET,
      HOLDFAST_STORE: 'memory:',
    }
    expect(await refusal({ env, source: new Centre({}) })).toMatch(/HOLDFAST_ALERT_WEBHOOK: give an http/)
  })
})
