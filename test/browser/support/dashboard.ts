import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, inject } from 'vitest'
import type { Locks } from '../../../src/locks.ts'
import { listenLocks, type ListenOptions, type ListeningLockServer } from '../../../src/server/index.ts'
import { atEnd } from '../../support/stage.ts'

export const TOKEN = 'a-token-of-the-browser-tests-0123456789'

let browser: Promise<Browser> | null = null
/** What no page may ever cause: errors, violations of the policy, requests to elsewhere. */
let complaints: string[] = []
let allowed: RegExp | null = null

afterEach(() => {
  const wrong = complaints.filter((text) => !allowed?.test(text))
  // Pages that are still there see the network and the servers go: that is not theirs to answer for.
  complaints = []
  allowed = null
  if (wrong.length > 0) throw new Error(`the page complains:\n${wrong.join('\n')}`)
})
afterAll(async () => (await browser)?.close())

/** Browsers report answers that are not 2xx as errors of the page. */
export function allowComplaints(like: RegExp): void {
  allowed = like
}

/** Gone after the test. */
export async function serve(locks: Locks, options: ListenOptions = {}): Promise<ListeningLockServer> {
  const server = await listenLocks(locks, { port: 0, token: TOKEN, audit: () => {}, ...options })
  atEnd(() => server.close())
  return server
}

export interface Look extends BrowserContextOptions {
  readonly hash?: string
}

/** A page in a browser of its own, in English and light unless told otherwise. Gone after the test. */
export async function openPage(url: string, { hash = '', ...options }: Look = {}): Promise<Page> {
  browser ??= chromium.connect(inject('browser'))
  const context = await (await browser).newContext({ locale: 'en-GB', colorScheme: 'light', ...options })
  atEnd(() => context.close())
  const page = await context.newPage()
  const heard = complaints
  page.setDefaultTimeout(8000)
  page.on('pageerror', (error) => heard.push(`thrown: ${error.stack ?? error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') heard.push(message.text())
  })
  page.on('request', (request) => {
    const asked = request.url()
    if (!asked.startsWith(url) && !asked.startsWith('data:')) heard.push(`a request to ${asked}`)
  })
  await page.goto(`${url}${hash}`)
  return page
}

/** Shown the token as `holdfast serve` prints it. */
export async function openDashboard(url: string, { hash = '', ...look }: Look = {}): Promise<Page> {
  const page = await openPage(url, { ...look, hash: `#token=${TOKEN}` })
  await page
    .getByText('Live', { exact: true })
    .or(page.getByText('实时', { exact: true }))
    .waitFor()
  if (hash !== '') await goTo(page, hash)
  return page
}

export async function goTo(page: Page, hash: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
  await page.locator('main h1').waitFor()
}
