import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { memoryStore } from '../../src/stores/memory.ts'
import { locksOn } from '../support/stage.ts'
import { openDashboard, serve } from './support/dashboard.ts'

const MANY = 10_000

it('10,000 locks: few of them are in the document, scrolling reaches the last, a search is quick', async () => {
  const store = memoryStore()
  const locks = locksOn(store, { service: 'orders', lease: '60s' })
  for (let from = 0; from < MANY; from += 1000) {
    await locks.acquire(Array.from({ length: 1000 }, (_none, i) => `order:${10_000 + from + i}`))
  }
  const { url } = await serve(locksOn(store))
  const page = await openDashboard(url)
  await page.getByText('10,000 held').waitFor()
  expect(await page.locator('tbody tr').count()).toBeLessThan(60)
  expect(await page.evaluate('document.querySelectorAll("*").length')).toBeLessThan(1500)

  await page.getByRole('link', { name: 'order:10000' }).waitFor()
  await page.getByRole('region', { name: 'Held locks' }).press('End')
  await page.getByRole('link', { name: 'order:19999' }).waitFor()
  const row = page.getByRole('row', { name: /order:19999/ })
  expect(await row.getAttribute('aria-rowindex')).toBe(String(MANY + 1))
  expect(await page.locator('tbody tr').count()).toBeLessThan(60)

  const busyMs = await pageTime(page)
  // Two frames after the input: filtered, sorted and drawn.
  await page.evaluate(`(async () => {
    const search = document.querySelector('input[type=search]')
    search.value = '1234'
    search.dispatchEvent(new Event('input', { bubbles: true }))
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
  })()`)
  const took = await busyMs()
  expect(await page.locator('.count').innerText()).toBe('11 of 10,000 held')
  expect(took).toBeLessThan(150)

  await busyMs()
  await page.evaluate(`(async () => {
    const search = document.querySelector('input[type=search]')
    search.value = ''
    search.dispatchEvent(new Event('input', { bubbles: true }))
    const box = document.querySelector('.scroller')
    for (let i = 0; i < 60; i++) {
      box.scrollTop += 3000
      await new Promise((done) => requestAnimationFrame(done))
    }
  })()`)
  expect((await busyMs()) / 60).toBeLessThan(40)
})

/** Tells the time of the processor that the page took since it was last asked: what else the machine does is not counted. */
async function pageTime(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  let last = 0
  const since = async (): Promise<number> => {
    const { metrics } = await session.send('Performance.getMetrics')
    const now = 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN)
    const took = now - last
    last = now
    return took
  }
  await since()
  return since
}
