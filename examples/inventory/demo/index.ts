/**
 * `npm start`: two services, two processes each, sell from one stock table. On a terminal until q or Ctrl-C, with keys
 * and a page to disturb them; elsewhere a killed and a paused holder, the books, and the end, with exit code 1 if
 * anything is wrong.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '../../../src/errors.ts'
import { createLocks } from '../../../src/index.ts'
import { countUnmatched, readBooks, totalsOf } from '../books.ts'
import { openDatabase } from '../database.ts'
import { Fleet } from '../fleet.ts'
import { stockUp } from '../schema.ts'
import { Traffic } from '../traffic.ts'
import { listenToKeys } from './keys.ts'
import { Lines, type Screen, Terminal } from './screen.ts'
import { CODES, LEASE_MS, Shop, START_STOCK, type Tell } from './shop.ts'
import { openSite, type Site } from './site.ts'
import { view } from './view.ts'

const REDRAW_MS = 500
const CALM_MS = 2000

const live = process.stdout.isTTY
const began = performance.now()
const folder = mkdtempSync(join(tmpdir(), 'holdfast-demo-'))
const setup = {
  locks: `sqlite:${join(folder, 'locks.db')}`,
  stock: `sqlite:${join(folder, 'stock.db')}`,
  keeping: 'locks',
  // A price, a payment: long enough to be seen, and to be disturbed in.
  thinkMs: 120,
  lease: `${LEASE_MS}ms`,
  wait: '8s',
} as const

const story: string[] = []
const title = 'holdfast: two services, two processes each, one stock table'
const screen: Screen = live ? new Terminal(`${title} (k kill, p pause, l locks, q end)`) : new Lines()
const tell: Tell = (line, tone) => {
  story.push(line)
  screen.tell(`${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s  ${line}`, tone)
}
if (!live) tell(title)

const database = await openDatabase(setup.stock)
const locks = createLocks(setup.locks, { service: 'visitor', logger: null })
const fleet = new Fleet(setup)
const traffic = new Traffic({
  instances: () => fleet.healthy,
  codes: CODES,
  concurrency: 8,
  restMs: 200,
  batchPercent: 10,
})
const keys = listenToKeys((action) => shop.do(action))
const shop = new Shop({ fleet, database, traffic, locks, tell, quit: keys.quit })
let site: Site | null = null
let shown = { at: performance.now(), orders: 0 }

async function show(): Promise<void> {
  const now = await shop.look()
  const at = performance.now()
  screen.show(view(now, (now.orders - shown.orders) / Math.max(0.001, (at - shown.at) / 1000)))
  shown = { at, orders: now.orders }
}

/** Until somebody ends it. */
async function onTerminal(): Promise<void> {
  while (!keys.quit.aborted) {
    await show()
    await sleep(REDRAW_MS, undefined, { signal: keys.quit }).catch(() => undefined)
  }
}

/** What a visitor would do, once. */
async function byItself(): Promise<void> {
  const pause = (): Promise<void> => sleep(CALM_MS, undefined, { signal: keys.quit })
  await pause()
  await show()
  await shop.kill()
  await pause()
  await shop.pause()
  await pause()
  await show()
}

/** The books, when nothing goes on any more. */
async function close(): Promise<boolean> {
  await shop.end()
  const locksWereOn = fleet.keeping === 'locks'
  await traffic.stop()
  await fleet.stop()
  const accounts = await readBooks(database)
  const unmatched = await countUnmatched(database)
  const left = await locks.list()
  const { stock, sold, due } = totalsOf(accounts)
  const right = accounts.every(({ oversold }) => oversold === 0) && unmatched === 0
  const books = `stock ${stock} + sold ${sold} = ${stock + sold}, of ${due}`
  if (locksWereOn)
    tell(`${books}: ${right ? 'the books are right' : 'THE BOOKS ARE WRONG'}`, right ? 'good' : 'bad')
  else tell(`${books}, with the locks off`, 'bad')
  // The lease of a killed process may still run.
  tell(
    left.locks.length === 0
      ? 'no key is left held'
      : `${left.locks.length} keys of killed processes run out by themselves`,
  )
  return right || !locksWereOn
}

try {
  await stockUp(database, CODES, START_STOCK)
  await fleet.start(2)
  tell(`they run: ${fleet.instances.map(({ name, pid }) => `${name} (pid ${pid})`).join(', ')}`)
  site = await openSite(shop, locks, () => story)
  tell(`open ${site.url} for the shop, ${site.dashboard} for its locks`)
  traffic.start()
  await (live ? onTerminal() : byItself()).catch((error: unknown) => {
    if (!keys.quit.aborted) throw error
  })
  process.exitCode = (await close()) ? 0 : 1
} catch (error) {
  // Ended while it starts.
  if (!keys.quit.aborted) {
    tell(`that was not expected: ${describeError(error)}`, 'bad')
    process.exitCode = 1
  }
} finally {
  await site?.close()
  await traffic.stop()
  await fleet.stop()
  await locks.close()
  await database.close()
  rmSync(folder, { recursive: true, force: true })
  screen.close()
  keys.close()
  process.exitCode ||= keys.exitCode
}
