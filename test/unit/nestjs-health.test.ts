import { HealthCheckService, type HealthIndicatorFunction, TerminusModule } from '@nestjs/terminus'
import { describe, expect, it } from 'vitest'
import { Locks, LocksHealth, LocksModule } from '../../src/nestjs/index.ts'
import { moduleOf, start } from './support/nest.ts'
import { TrialStore } from './support/trial-store.ts'
import { VirtualTime } from './support/virtual-time.ts'

async function stage() {
  const time = new VirtualTime()
  const store = new TrialStore(time)
  const locks = LocksModule.forRoot({ store, environment: time })
  const app = await start(moduleOf({ imports: [TerminusModule.forRoot({ logger: false }), locks] }))
  const health = app.get(LocksHealth)
  const indicator: HealthIndicatorFunction = () => health.isHealthy()
  return { time, store, app, health, check: () => app.get(HealthCheckService).check([indicator]) }
}

describe('LocksHealth', () => {
  it('is up while the store answers', async () => {
    const { health, check } = await stage()
    const up = { status: 'up', store: 'trial', latencyMs: 0 }
    expect(await health.isHealthy()).toEqual({ locks: up })
    expect(await health.isHealthy('orders-locks')).toEqual({ 'orders-locks': up })
    expect(await check()).toMatchObject({ status: 'ok', info: { locks: up } })
  })

  it('is down while the store fails, and says no more than that', async () => {
    const { store, check } = await stage()
    store.mood.list = 'fail'
    await expect(check()).rejects.toMatchObject({
      status: 503,
      response: {
        status: 'error',
        error: { locks: { status: 'down', store: 'trial', message: 'STORE_UNAVAILABLE' } },
      },
    })
    store.mood.list = 'work'
    expect(await check()).toMatchObject({ status: 'ok' })
  })

  it('is down after the limit of one call, if the store does not answer', async () => {
    const { time, store, health } = await stage()
    store.mood.list = 'hang'
    const asked = health.isHealthy()
    await time.advance(3_000)
    expect(await asked).toMatchObject({ locks: { status: 'down', message: 'STORE_UNAVAILABLE' } })
  })

  it('is down once the client is closed', async () => {
    const { app, health } = await stage()
    await app.get(Locks).close()
    expect(await health.isHealthy()).toMatchObject({ locks: { status: 'down', message: 'CLOSED' } })
  })
})
