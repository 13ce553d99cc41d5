import { describe, expect, it } from 'vitest'
import { type Column, table } from '../../src/cli/table.ts'
import { cut, json, period, shown, width } from '../../src/cli/text.ts'

const HOSTILE = 'a\u{1b}[2J\u{9b}31m\r\n\u{202e}b\u{7f}\u{2028}\u{e0001}\ud800'

describe('what others have written', () => {
  it('cannot move the cursor, turn a line around or begin a new one', () => {
    expect(shown(HOSTILE)).toBe('a\\e[2J\\u{9b}31m\\r\\n\\u{202e}b\\u{7f}\\u{2028}\\u{e0001}\\u{d800}')
  })

  it('stays what it is in JSON, with every such character escaped', () => {
    const text = json({ key: HOSTILE })
    expect(text).toMatch(/^[\x20-\x7e]*$/)
    expect(JSON.parse(text)).toEqual({ key: HOSTILE })
  })
})

describe('width', () => {
  it('counts columns, not characters', () => {
    expect([width('abc'), width('日本'), width('e\u0301'), width('🔒'), width('é')]).toEqual([3, 4, 1, 2, 1])
  })

  it.each([
    ['abcdef', 6, 'abcdef'],
    ['abcdef', 5, 'abcd…'],
    ['日本語', 5, '日本…'],
    ['日本語', 4, '日…'],
    ['abc', 1, '…'],
    ['abc', 0, ''],
  ])('%s is cut to %i columns', (text, columns, expected) => {
    expect(cut(text, columns)).toBe(expected)
    expect(width(expected)).toBeLessThanOrEqual(columns)
  })
})

it.each([
  [-5, '0.0s'],
  [420, '0.4s'],
  [9960, '10s'],
  [59_400, '59s'],
  [59_600, '1m 00s'],
  [185_000, '3m 05s'],
  [7_800_000, '2h 10m'],
  [356_400_000, '4d 03h'],
])('%i ms read as %s', (ms, expected) => expect(period(ms)).toBe(expected))

describe('a table', () => {
  const columns: readonly Column<readonly [string, string]>[] = [
    { title: 'NAME', cell: ([name]) => name, least: 6 },
    { title: 'N', cell: ([, count]) => count, right: true },
  ]
  const rows = [
    ['short', '7'],
    ['a-very-long-name\nwith a line', '1234'],
  ] as const

  it('is as wide as it has to be where nothing limits it', () => {
    expect(table(rows, columns, { columns: Infinity, colour: false })).toEqual([
      'NAME                              N',
      'short                             7',
      'a-very-long-name\\nwith a line  1234',
    ])
  })

  it.each([30, 20, 12, 5])('has no line wider than a terminal of %i columns', (limit) => {
    const lines = table(rows, columns, { columns: limit, colour: false })
    expect(lines).toHaveLength(3)
    for (const line of lines) expect(width(line)).toBeLessThanOrEqual(limit)
  })

  it('cuts what may be cut and leaves numbers whole', () => {
    expect(table(rows, columns, { columns: 16, colour: false })).toEqual([
      'NAME           N',
      'short          7',
      'a-very-lo…  1234',
    ])
  })
})
