import { describe, expect, it } from 'vitest'
import { COLUMNS, LockTable, type View } from '../../src/dashboard/lock-table.ts'
import type { LockJson } from '../../src/server/wire.ts'

const NOTHING = { all: false, held: [], freed: [], renewed: [] }
const ALL: View = { search: '', service: '', wanted: false, sort: 'key', descending: false }

function lock(key: string, more: Partial<LockJson> = {}): LockJson {
  return {
    key,
    grant: 1,
    token: '1024',
    service: 'orders',
    instance: 'orders-1',
    context: null,
    since: 0,
    heldMs: 1000,
    leaseMs: 30_000,
    remainingMs: 20_000,
    wanted: false,
    ...more,
  }
}

function tableOf(...held: LockJson[]): LockTable {
  const table = new LockTable()
  table.apply({ ...NOTHING, all: true, held }, 5000)
  return table
}

const keys = (table: LockTable, view: Partial<View> = {}): string[] =>
  table.view({ ...ALL, ...view }).map(({ lock }) => lock.key)

describe('the model of the table', () => {
  it('counts times from when it was told, on one clock', () => {
    const table = tableOf(lock('a'))
    expect(table.get('a')).toMatchObject({ takenAt: 4000, endsAt: 25_000 })
    table.apply({ ...NOTHING, renewed: [['a', 30_000]] }, 6000)
    expect(table.get('a')).toMatchObject({ takenAt: 4000, endsAt: 36_000 })
  })

  it('follows takings, releases and changes of hands, in whatever order they are named', () => {
    const table = tableOf(lock('a'), lock('b'))
    table.apply({ ...NOTHING, held: [lock('a', { grant: 2 })], freed: [{ key: 'a', grant: 1 }] }, 6000)
    expect(table.get('a')?.lock.grant).toBe(2)
    // Late word of a turn that is long over.
    table.apply({ ...NOTHING, freed: [{ key: 'a', grant: 1 }] }, 6000)
    expect(keys(table)).toEqual(['a', 'b'])
    table.apply({ ...NOTHING, freed: [{ key: 'b', grant: 1 }], renewed: [['gone', 5]] }, 6000)
    expect(keys(table)).toEqual(['a'])
    table.apply({ ...NOTHING, all: true, held: [lock('c')] }, 7000)
    expect(keys(table)).toEqual(['c'])
  })

  it('searches for all words, in any column, in any case', () => {
    const table = tableOf(
      lock('Order:1', { context: 'Checkout of cart 7' }),
      lock('order:2', { instance: 'orders-9' }),
      lock('invoice', { service: 'billing', instance: 'b-1' }),
    )
    expect(keys(table, { search: '  ORDER ' })).toEqual(['Order:1', 'order:2'])
    expect(keys(table, { search: 'cart check' })).toEqual(['Order:1'])
    expect(keys(table, { search: 'orders-9' })).toEqual(['order:2'])
    expect(keys(table, { search: 'bill' })).toEqual(['invoice'])
    expect(keys(table, { search: 'order billing' })).toEqual([])
  })

  it('filters by service and by who is wanted', () => {
    const table = tableOf(
      lock('a'),
      lock('b', { service: 'billing', wanted: true }),
      lock('c', { wanted: true, heldMs: 9 }),
    )
    expect(keys(table, { service: 'orders' })).toEqual(['a', 'c'])
    expect(keys(table, { service: 'orders', wanted: true })).toEqual(['c'])
    expect(table.wanted().map((row) => row.lock.key)).toEqual(['b', 'c'])
    expect(table.services()).toEqual([
      ['orders', 2],
      ['billing', 1],
    ])
  })

  it.each(COLUMNS)('sorts by %s, both ways, and by key where that is the same', (sort) => {
    const small = {
      service: 'a',
      instance: 'a',
      context: 'a',
      heldMs: 1,
      remainingMs: 1,
      grant: 1,
      wanted: false,
    }
    const large = {
      service: 'b',
      instance: 'b',
      context: 'b',
      heldMs: 2,
      remainingMs: 2,
      grant: 2,
      wanted: true,
    }
    const table = tableOf(lock('z', small), lock('k2', large), lock('k1', sort === 'key' ? large : small))
    const up = sort === 'key' ? ['k1', 'k2', 'z'] : ['k1', 'z', 'k2']
    expect(keys(table, { sort })).toEqual(up)
    expect(keys(table, { sort, descending: true })[0]).toBe(sort === 'key' ? 'z' : 'k2')
  })
})
