import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { totalsOf } from '../../examples/inventory/books.ts'
import { shown, type Turn } from '../../examples/inventory/comparison.ts'
import { isRight, oversold, summary } from '../../examples/inventory/report.ts'
import { run, type RunOptions } from '../../examples/inventory/run.ts'
import { freshMariadbDatabase } from '../servers/shared-mariadb.ts'
import { freshFolder } from '../support/sqlite-stage.ts'

function load(options: Partial<RunOptions>): RunOptions {
  const folder = freshFolder()
  return {
    store: `sqlite:${join(folder, 'locks.db')}`,
    db: `sqlite:${join(folder, 'stock.db')}`,
    keeping: 'locks',
    instances: 1,
    seconds: 3,
    concurrency: 12,
    commodities: 3,
    thinkMs: 10,
    leaseMs: 1500,
    chaos: false,
    signal: new AbortController().signal,
    ...options,
  }
}

describe('the inventory of two services', () => {
  it('is right with both the stock and the locks on MariaDB', async () => {
    const url = await freshMariadbDatabase()
    const outcome = await run(load({ store: url, db: url, seconds: 2, leaseMs: 5000 }))
    expect(summary(outcome).at(-1)).toMatch(/: right$/)
    // With what was answered after the time was over: how much that is depends on the machine.
    expect(totalsOf(outcome.accounts).sold).toBeGreaterThan(0)
  })

  it('is oversold without locks, by the same load', async () => {
    const outcome = await run(load({ keeping: 'none', seconds: 1 }))
    expect(oversold(outcome)).toBeGreaterThan(0)
  })

  it('is right at the end, and sells nothing twice, while holders are killed and paused', async () => {
    const outcome = await run(load({ chaos: true, seconds: 6 }))
    expect(summary(outcome).at(-1)).toMatch(/: right$/)
    expect(isRight(outcome)).toBe(true)
    expect(totalsOf(outcome.accounts).sold).toBeGreaterThan(0)
    expect(outcome.misfortunes.killed + outcome.misfortunes.paused).toBeGreaterThan(0)
  })
})

it('the comparison of locks with row locks is the median of its rounds, each with its own neighbour', () => {
  const turn = (perSecond: number): Turn => ({
    perSecond,
    p50: 1,
    p95: 2,
    cpuMs: 100 / perSecond,
    right: true,
  })
  const rounds = [
    { none: turn(100), rows: turn(100), locks: turn(80) },
    // The machine was busy with something else.
    { none: turn(10), rows: turn(10), locks: turn(9) },
    { none: turn(100), rows: turn(200), locks: turn(100) },
  ]
  expect(shown(rounds).join('\n')).toContain(
    'locks: 80 % (80, 90, 50) of the orders of row locks, 90 % (80, 90, 100) of those without any',
  )
  expect(shown([])).toEqual(['it was stopped before the first round was over'])
})
