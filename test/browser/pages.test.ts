import { describe, expect, it } from 'vitest'
import { watchLocks } from '../../src/alerts/index.ts'
import type { Locks } from '../../src/locks.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { locksOn } from '../support/stage.ts'
import { openDashboard, serve } from './support/dashboard.ts'

async function stage(): Promise<{ orders: Locks; billing: Locks; url: string }> {
  const store = memoryStore()
  const orders = locksOn(store, { service: 'orders', instance: 'orders-1' })
  const billing = locksOn(store, { service: 'billing', instance: 'billing-1' })
  const { url } = await serve(orders)
  return { orders, billing, url }
}

describe('the numbers of the serving process', () => {
  it('Contention: which service met which holder how often, and the busiest keys', async () => {
    const { orders, billing, url } = await stage()
    await billing.acquire('hot')
    for (let i = 0; i < 3; i++) expect(await orders.tryAcquire('hot')).toBeNull()
    await orders.using('cold', () => {})
    const page = await openDashboard(url, { hash: '#/contention' })
    const matrix = page.getByRole('region', { name: 'Who waits for whom' })
    await matrix.waitFor()
    expect(await matrix.getByRole('columnheader').allInnerTexts()).toEqual(['Waits ↓ · Holds →', 'billing'])
    expect(await matrix.getByRole('row', { name: 'orders' }).getByRole('cell').allInnerTexts()).toEqual(['3'])
    const busiest = page.locator('section', { has: page.getByRole('heading', { name: 'Busiest keys' }) })
    const hot = await busiest.getByRole('row', { name: /^hot/ }).getByRole('cell').allInnerTexts()
    expect(hot.slice(0, 3)).toEqual(['hot', '3', '3'])
  })

  it('Times: what was measured before, and a curve of what happens while it is looked at', async () => {
    const { orders, url } = await stage()
    await orders.using('k', () => {})
    const page = await openDashboard(url, { hash: '#/times' })
    await page.getByRole('img', { name: /^Wait, how often how long/ }).waitFor()
    expect(await page.getByText('Nothing measured yet.').count()).toBe(1)
    expect(await page.getByRole('img', { name: /over the last minutes/ }).count()).toBe(0)
    await orders.using('k', () => {})
    await page.getByRole('img', { name: /^Wait over the last minutes. Now: p50/ }).waitFor()
    await page.getByText('2 measured').first().waitFor()
  })

  it('Health: the store, the calls, and an alert from when it begins until it is over', async () => {
    const { orders, url } = await stage()
    watchLocks(orders, { every: '1s', on: { heldTooLong: '1s' } })
    const lease = await orders.acquire('slow')
    const page = await openDashboard(url)
    await page.getByRole('link', { name: '1 alert' }).click()
    await page.getByText('Held too long').waitFor()
    await page.getByRole('link', { name: 'slow' }).waitFor()
    const step = page.getByRole('row', { name: /^acquire/ }).getByRole('cell')
    expect((await step.allInnerTexts()).slice(0, 4)).toEqual(['1', '1', '1.0', '0'])
    await lease.release()
    await page.getByText('None. All is calm.').waitFor()
  })
})

describe('the page of events', () => {
  it('shows them as they happen, filters them, and stands still while it is paused', async () => {
    const { billing, url } = await stage()
    const page = await openDashboard(url, { hash: '#/events' })
    await page.getByText('Nothing has happened yet').waitFor()
    const first = await billing.acquire('one')
    await page.getByRole('row', { name: /taken one/ }).waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    await first.release()
    await billing.acquire('two')
    await page.getByText('2 new').waitFor()
    expect(await page.locator('tbody tr').count()).toBe(1)
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('row', { name: /freed one/ }).waitFor()
    await page.getByRole('combobox', { name: 'Kind' }).selectOption('freed')
    await page.getByRole('row', { name: /taken/ }).first().waitFor({ state: 'detached' })
    await page.getByRole('searchbox').fill('nothing like it')
    await page.getByText('No event fits this filter.').waitFor()
    await expect.poll(() => page.url()).toContain('#/events?kind=freed&q=nothing+like+it')
  })
})
