import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { atLast } from '../support/stage.ts'
import { goTo, openDashboard } from './support/dashboard.ts'
import { busyShop } from './support/shop.ts'

const PAGES = {
  locks: '#/locks',
  lock: '#/lock?key=order:4711',
  contention: '#/contention',
  times: '#/times',
  health: '#/health',
  events: '#/events',
}
const WAYS = {
  light: {},
  dark: { colorScheme: 'dark' },
  'phone, Chinese': { viewport: { width: 390, height: 844 }, locale: 'zh-CN', hasTouch: true },
} as const

const root = resolve(import.meta.dirname, '..', '..')
const images = join(root, 'docs', 'images')
const LARGEST_IMAGE = 150 * 1024

let url: string

beforeAll(async () => {
  const shop = await busyShop()
  atLast(() => shop.close())
  url = shop.url
})

describe.each(Object.entries(WAYS))('every page, %s', (_name, look) => {
  it('has no fault that axe finds, and no sideways scrolling', async () => {
    const page = await openDashboard(url, look)
    await page.getByRole('link', { name: 'order:4711', exact: true }).waitFor()
    for (const [shown, hash] of Object.entries(PAGES)) {
      await goTo(page, hash)
      await settled(page, shown)
      expect({ [shown]: await faults(page) }).toEqual({ [shown]: [] })
      const wide = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      expect({ [shown]: wide }).toEqual({ [shown]: 0 })
    }
  })
})

it('the dialogs have no fault that axe finds', async () => {
  for (const look of [
    WAYS.light,
    { ...WAYS['phone, Chinese'], locale: 'en', colorScheme: 'dark' as const },
  ]) {
    const page = await openDashboard(url, { ...look, hash: PAGES.lock })
    await page.getByRole('button', { name: 'Free by force…' }).click()
    await page.getByLabel('Reason').fill('the machine is gone')
    expect(await faults(page)).toEqual([])
  }
})

it('language and theme follow the browser, and the switches, which are kept', async () => {
  const page = await openDashboard(url, { locale: 'zh-CN', colorScheme: 'dark' })
  const ground = (): Promise<string> =>
    page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
  await page.getByRole('heading', { name: '锁' }).waitFor()
  expect(await page.getAttribute('html', 'lang')).toBe('zh-CN')
  const dark = await ground()
  await page.getByRole('combobox', { name: '主题' }).selectOption('light')
  expect(await ground()).not.toBe(dark)
  await page.getByRole('combobox', { name: '语言' }).selectOption('en')
  await page.getByRole('heading', { name: 'Locks' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'Locks' }).waitFor()
  expect(await ground()).not.toBe(dark)
})

it('every control is reached by the keyboard, and shows it', async () => {
  const page = await openDashboard(url)
  await page.getByRole('link', { name: 'order:4711', exact: true }).waitFor()
  const reached: string[] = []
  for (let i = 0; i < 24; i++) {
    await page.keyboard.press('Tab')
    const at = await page.evaluate<{ name: string; outline: string }>(`(() => {
      const at = document.activeElement
      return { name: at.getAttribute('aria-label') ?? at.innerText.trim(), outline: getComputedStyle(at).outlineStyle }
    })()`)
    reached.push(at.name)
    expect(at).toEqual({ name: at.name, outline: 'solid' })
  }
  const controls = ['Skip to content', 'Contention', 'Language', 'Theme', 'Service', 'Held locks', 'Held for']
  expect(reached).toEqual(expect.arrayContaining(controls))
})

it('all of it together is at most 60 KiB gzipped, without a source map or a script in the page', () => {
  const folder = join(root, 'dist', 'dashboard')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.\w+$/.test(file),
  )
  const size = files.reduce((sum, file) => sum + gzipSync(readFileSync(join(folder, file))).length, 0)
  expect(size).toBeLessThan(60 * 1024)
  expect(files.filter((file) => !/^index\.html$|^assets\/[\w-]+\.(js|css|svg)$/.test(file))).toEqual([])
  const page = readFileSync(join(folder, 'index.html'), 'utf8')
  expect(page).not.toMatch(/<script(?![^>]* src="\.\/)|<style|style=|https?:/)
})

it('the pictures in the documentation are there, and small', { timeout: 120_000 }, async () => {
  // The fonts of the machine are in them, so they are taken anew only when asked for.
  if (process.env.SCREENSHOTS === '1') await takePictures()
  const pages = ['README.md', 'docs/dashboard.md'].map((page) => readFileSync(join(root, page), 'utf8'))
  const named = pages.flatMap((page) =>
    [...page.matchAll(/images\/(dashboard-[\w-]+\.png)/g)].map(([, name]) => name!),
  )
  const there = readdirSync(images).filter((name) => name.startsWith('dashboard-'))
  expect(there.sort()).toEqual([...new Set(named)].sort())
  for (const name of named) expect(statSync(join(images, name)).size).toBeLessThan(LARGEST_IMAGE)
})

async function takePictures(): Promise<void> {
  mkdirSync(images, { recursive: true })
  const viewport = { width: 1280, height: 720 }
  const desk = await openDashboard(url, { viewport })
  const dark = await openDashboard(url, { viewport, colorScheme: 'dark' })
  const phone = await openDashboard(url, { viewport: { width: 390, height: 760 } })
  // The curves need something to show.
  await desk.waitForTimeout(70_000)
  for (const shown of Object.keys(PAGES)) await picture(desk, shown, shown)
  await picture(dark, 'locks', 'locks-dark')
  await picture(phone, 'locks', 'locks-phone')
  await goTo(desk, PAGES.lock)
  await desk.getByRole('button', { name: 'Free by force…' }).click()
  await picture(desk, null, 'release')
}

async function picture(page: Page, shown: string | null, name: string): Promise<void> {
  if (shown !== null) {
    await goTo(page, PAGES[shown as keyof typeof PAGES])
    await settled(page, shown)
  }
  await page.screenshot({ path: join(images, `dashboard-${name}.png`) })
}

/** What a page shows when it has all it needs. */
async function settled(page: Page, shown: string): Promise<void> {
  const mark = {
    locks: '.locks tr',
    lock: '.plain tr',
    contention: '.matrix',
    times: '.chart svg',
    health: '.figures',
    events: '.events tr',
  }
  await page
    .locator(mark[shown as keyof typeof mark])
    .first()
    .waitFor({ timeout: 15_000 })
}

/** Evaluated from outside: the policy of the page lets no foreign script in. */
async function faults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<axe.AxeResults>('axe.run()')
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`,
  )
}
