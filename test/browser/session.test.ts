import { describe, expect, it } from 'vitest'
import { createLocks } from '../../src/locks.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { freePort } from '../servers/free-port.ts'
import { databaseAt, freshPath } from '../support/sqlite-stage.ts'
import { atEnd, locksOn, proxyTo } from '../support/stage.ts'
import { allowComplaints, openDashboard, openPage, serve, TOKEN } from './support/dashboard.ts'

describe('the token', () => {
  it('is asked for, refused if wrong, and kept in this tab alone', async () => {
    allowComplaints(/401/)
    const { url } = await serve(locksOn(memoryStore()))
    const page = await openPage(url)
    const dialog = page.getByRole('dialog', { name: 'This server asks for a token' })
    await dialog.getByLabel('Token').fill('wrong')
    await dialog.getByLabel('Token').press('Enter')
    await dialog.getByText('The server did not accept this token.').waitFor()
    // Neither Esc nor a token that no header can carry gets past it.
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await dialog.getByLabel('Token').fill('ключ')
    await dialog.getByRole('button', { name: 'Connect' }).click()
    await dialog.getByText('The server did not accept this token.').waitFor()
    await dialog.getByLabel('Token').fill(TOKEN)
    await dialog.getByRole('button', { name: 'Connect' }).click()
    await page.getByText('No key is held').waitFor()
    expect(await dialog.count()).toBe(0)
    expect(page.url()).toBe(url)
    expect(await page.evaluate('JSON.stringify({ ...localStorage }) + document.cookie')).not.toContain(TOKEN)
    await page.reload()
    await page.getByText('No key is held').waitFor()
  })

  it('is taken from the address, and out of it at once', async () => {
    const { url } = await serve(locksOn(memoryStore()))
    const page = await openDashboard(url)
    expect(page.url()).toBe(`${url}#/locks`)
    await page.goBack().catch(() => {})
    expect(page.url()).not.toContain(TOKEN)
  })
})

describe('the connection', () => {
  it('comes back by itself after the server was restarted, and shows what is held then', async () => {
    allowComplaints(/ERR_|Failed to load/)
    const store = memoryStore()
    const [first, orders] = [createLocks(store, { logger: null }), locksOn(store, { service: 'orders' })]
    await orders.acquire('before')
    const port = await freePort()
    const server = await serve(first, { port })
    const page = await openDashboard(server.url)
    await page.getByRole('link', { name: 'before' }).waitFor()
    await first.close()
    await page.getByText(/Reconnecting in/).waitFor()
    // What was known stays on the screen meanwhile.
    expect(await page.getByRole('link', { name: 'before' }).count()).toBe(1)
    await orders.acquire('after')
    await serve(locksOn(store), { port })
    await page
      .getByRole('button', { name: 'Now' })
      .click({ timeout: 2000 })
      .catch(() => {})
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'after' }).waitFor()
    expect(await page.getByRole('link', { name: 'before' }).count()).toBe(1)
  })

  it('goes on where it was after the network was cut, and misses nothing', async () => {
    allowComplaints(/ERR_/)
    const store = memoryStore()
    const orders = locksOn(store, { service: 'orders' })
    const server = await serve(locksOn(store), { observe: 'always' })
    const { proxy, url } = await proxyTo(server.url)
    const page = await openDashboard(url, { hash: '#/events' })
    await orders.acquire('first')
    await page.getByRole('row', { name: /taken first/ }).waitFor()
    const again = page.waitForRequest((request) => request.url().endsWith('/api/events'))
    proxy.cut()
    await orders.acquire('second')
    expect((await again).headers()['last-event-id']).toMatch(/^.+\.\d+$/)
    await page.getByRole('row', { name: /taken second/ }).waitFor()
    expect(await page.getByRole('row', { name: /taken first/ }).count()).toBe(1)
  })

  it('says that the store is degraded, and that it is well again', async () => {
    const file = freshPath()
    const locks = locksOn(sqliteStore(file))
    await locks.acquire('order:1')
    const { url } = await serve(locks)
    const page = await openDashboard(url)
    await page.getByText(/Store sqlite: ok/).waitFor()
    const database = databaseAt(file)
    database.exec('ALTER TABLE holdfast_locks RENAME TO elsewhere')
    await page.getByText('Store sqlite: degraded').waitFor()
    expect(await page.getByRole('link', { name: 'order:1' }).count()).toBe(1)
    database.exec('ALTER TABLE elsewhere RENAME TO holdfast_locks')
    await page.getByText(/Store sqlite: ok/).waitFor()
    await page.getByRole('link', { name: 'order:1' }).waitFor()
  })

  it('says that nothing is known of a store that never answered', async () => {
    const locks = createLocks(`redis://127.0.0.1:${await freePort()}`, { logger: null })
    atEnd(() => locks.close())
    const { url } = await serve(locks)
    const page = await openDashboard(url)
    await page.getByText('Store redis: degraded').waitFor()
    await page.getByText('What is held is not known').waitFor()
  })
})
