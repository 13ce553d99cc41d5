import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import type { Locks } from '../../src/locks.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { locksOn } from '../support/stage.ts'
import { openDashboard, serve } from './support/dashboard.ts'

interface Stage {
  readonly orders: Locks
  readonly billing: Locks
  readonly url: string
}

async function stage(): Promise<Stage> {
  const store = memoryStore()
  const orders = locksOn(store, { service: 'orders', instance: 'orders-1' })
  const billing = locksOn(store, { service: 'billing', instance: 'billing-1' })
  const { url } = await serve(orders)
  return { orders, billing, url }
}

const keys = (page: Page): Promise<string[]> => page.locator('.locks td.c-key').allInnerTexts()

describe('the table of locks', () => {
  it('shows a lock when it is taken, counts it down, and drops it when it is freed', async () => {
    const { billing, url } = await stage()
    const page = await openDashboard(url)
    await page.getByText('No key is held').waitFor()
    const lease = await billing.acquire('invoice:7', { context: 'month end', lease: '20s' })
    const row = page.getByRole('row', { name: /invoice:7/ })
    await row.waitFor()
    expect(await row.innerText()).toMatch(/billing\s+billing-1\s+month end/)
    expect(await row.innerText()).toContain(String(lease.token))
    const left = async (): Promise<number> => Number.parseInt(await row.locator('.remaining').innerText())
    const before = await left()
    await expect.poll(left).toBeLessThan(before)
    await lease.release()
    await row.waitFor({ state: 'detached' })
    await page.getByText('No key is held').waitFor()
  })

  it('is searched, filtered and sorted, and its address says how', async () => {
    const { orders, billing, url } = await stage()
    await orders.acquire(['order:1', 'order:2'], { context: 'checkout' })
    await billing.acquire('invoice:1')
    const page = await openDashboard(url)
    await expect.poll(() => keys(page)).toEqual(['invoice:1', 'order:1', 'order:2'])

    await page.getByRole('button', { name: 'Key' }).click()
    await expect.poll(() => keys(page)).toEqual(['order:2', 'order:1', 'invoice:1'])
    await page.keyboard.press('/')
    await page.keyboard.type('CHECKOUT 2')
    await expect.poll(() => keys(page)).toEqual(['order:2'])
    expect(await page.locator('.count').innerText()).toBe('1 of 3 held')
    await expect.poll(() => page.url()).toContain('#/locks?desc=1&q=CHECKOUT+2')

    // The address alone brings the same view.
    await page.reload()
    await expect.poll(() => keys(page)).toEqual(['order:2'])
    await page.getByRole('searchbox').press('Escape')
    await page.getByRole('combobox', { name: 'Service' }).selectOption('billing')
    await expect.poll(() => keys(page)).toEqual(['invoice:1'])
    await page.getByRole('checkbox', { name: 'Wanted by others' }).check()
    await page.getByText('Nothing matches').waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await expect.poll(() => keys(page)).toHaveLength(3)
  })

  it('says of a key that others wait for it', async () => {
    const { orders, billing, url } = await stage()
    const lease = await orders.acquire('order:1')
    const waiting = billing.acquire('order:1', { wait: '20s' })
    waiting.catch(() => {})
    const page = await openDashboard(url, { hash: '#/locks?wanted=1' })
    await page
      .getByRole('row', { name: /order:1/ })
      .getByText('wanted')
      .waitFor()
    await page.getByRole('link', { name: 'Contention' }).click()
    await page.getByRole('heading', { name: 'Wanted now' }).waitFor()
    await page.getByRole('cell', { name: 'orders', exact: true }).waitFor()
    await lease.release()
    await waiting
    await page.getByText('Nobody waits for a held key.').waitFor()
  })

  it('shows keys that are made to harm as text, escaped and cut', async () => {
    const { orders, url } = await stage()
    const long = 'k'.repeat(512)
    const hostile = [
      '<img src=x onerror=alert(1)>',
      '"><script>alert(1)</script>',
      'a\u202eb\u200bc',
      '..',
      long,
    ]
    for (const key of hostile) await orders.acquire(key, { context: `<b>${key.slice(0, 40)}</b>` })
    const page = await openDashboard(url)
    await expect
      .poll(async () => (await keys(page)).sort())
      .toEqual(
        [...hostile.slice(0, 2), 'a\\u202eb\\u200bc', '..', `${'k'.repeat(79)}…${'k'.repeat(40)}`].sort(),
      )
    expect(await page.locator('main img, main script, main b').count()).toBe(0)
    for (const key of ['..', '<img src=x onerror=alert(1)>', 'a\\u202eb\\u200bc']) {
      await page.getByRole('link', { name: key, exact: true }).click()
      await page.getByRole('heading', { name: key, exact: true }).waitFor()
      await page.getByText('orders-1', { exact: true }).first().waitFor()
      await page.getByText('holds it').waitFor()
      await page.getByRole('link', { name: '← All locks' }).click()
    }
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  })
})
