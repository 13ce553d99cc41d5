import { describe, expect, it } from 'vitest'
import type { AuditEntry } from '../../src/server/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { locksOn } from '../support/stage.ts'
import { allowComplaints, openDashboard, openPage, serve } from './support/dashboard.ts'

const store = memoryStore()
const server = (): ReturnType<typeof locksOn> => locksOn(store, { service: 'desk' })
const holder = (): ReturnType<typeof locksOn> => locksOn(store, { service: 'orders', instance: 'orders-1' })

describe('freeing a key by force', () => {
  it('takes the key typed and a reason, warns of the old holder, frees, and is in the audit', async () => {
    const [locks, orders] = [server(), holder()]
    const entries: AuditEntry[] = []
    const { url } = await serve(locks, { audit: (entry) => void entries.push(entry) })
    await orders.acquire('order:1', { context: 'checkout' })
    const page = await openDashboard(url)
    await page.getByRole('link', { name: 'order:1' }).click()
    await page.getByRole('button', { name: 'Free by force…' }).click()

    const dialog = page.getByRole('dialog', { name: 'Free this key by force' })
    expect(await dialog.innerText()).toMatch(/orders · orders-1/)
    expect(await dialog.innerText()).toMatch(/may still be running.*Only the fencing token protects/s)
    const free = dialog.getByRole('button', { name: 'Free the key' })
    expect(await free.isDisabled()).toBe(true)
    await dialog.getByLabel('Type the key to confirm').fill('order:2')
    await dialog.getByLabel('Reason').fill('the machine is gone')
    expect(await free.isDisabled()).toBe(true)
    await dialog.getByLabel('Type the key to confirm').fill('order:1')
    await free.click()

    await page.getByText(/The key is free. Its holder was orders orders-1/).waitFor()
    await page.getByText('Nobody holds this key').waitFor()
    expect(await locks.inspect('order:1')).toBeNull()
    expect(entries.map(({ outcome }) => outcome)).toEqual(['asked', 'released'])
    expect(entries[0]).toMatchObject({ key: 'order:1', why: 'the machine is gone' })
    await page.getByText('freed by force').waitFor()
  })

  it('frees nothing once the lock has moved on, and says so', async () => {
    allowComplaints(/409/)
    const [locks, orders] = [server(), holder()]
    const { url } = await serve(locks)
    const lease = await orders.acquire('order:3')
    const page = await openDashboard(url, { hash: '#/lock?key=order:3' })
    await page.getByRole('button', { name: 'Free by force…' }).click()
    await lease.release()
    const next = await orders.acquire('order:3')
    await page.getByLabel('Type the key to confirm').fill('order:3')
    await page.getByLabel('Reason').fill('late')
    await page.getByRole('button', { name: 'Free the key' }).click()
    await page.getByRole('alert').getByText('The lock moved on, nothing was freed.').waitFor()
    expect((await locks.inspect('order:3'))?.grant).toBe(Number(next.token >> 10n))
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  it.each([
    ['read-only', { readOnly: true }, openDashboard],
    ['without a token', { token: undefined }, openPage],
  ])('is not offered %s', async (_how, options, open) => {
    const [locks, orders] = [server(), holder()]
    const { url } = await serve(locks, options)
    await orders.acquire('order:4')
    const page = await open(url)
    await page.getByText('Read-only', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'order:4' }).click()
    await page.getByText('holds it').waitFor()
    expect(await page.getByRole('button', { name: 'Free by force…' }).count()).toBe(0)
  })
})
