import { describe, expect, it } from 'vitest'
import { cut, duration, shownKey, visible } from '../../src/dashboard/format.ts'
import { hrefOf, parseRoute, tokenIn } from '../../src/dashboard/route.ts'
import { en } from '../../src/dashboard/words/en.ts'
import { zh } from '../../src/dashboard/words/zh.ts'

describe('the words', () => {
  it('are the same in English and Chinese, with the same blanks to fill in', () => {
    expect(Object.keys(zh)).toEqual(Object.keys(en))
    const blanks = (text: string): string[] => [...text.matchAll(/\{\w+\}/g)].map(String).sort()
    for (const [name, text] of Object.entries(en)) {
      const other = zh[name as keyof typeof en]
      expect({ [name]: blanks(other) }).toEqual({ [name]: blanks(text) })
      expect(other).not.toBe('')
    }
  })

  it('are in Chinese where they are Chinese', () => {
    const foreign = Object.entries(zh).filter(([, text]) => !/\p{Script=Han}/u.test(text))
    expect(foreign).toEqual([])
  })
})

describe('keys', () => {
  it.each([
    ['order:1', 'order:1'],
    ['<img src=x onerror=alert(1)>', '<img src=x onerror=alert(1)>'],
    ['a\u202eb', 'a\\u202eb'],
    ['a\u2066b\u2069', 'a\\u2066b\\u2069'],
    ['zero\u200bwidth\ufeff', 'zero\\u200bwidth\\ufeff'],
    ['two\nlines\u2028three', 'two\\u000alines\\u2028three'],
    ['tag\u{e0041}', 'tag\\u{e0041}'],
    ['订单:1 ключ مفتاح', '订单:1 ключ مفتاح'],
  ])('%j is shown with what cannot be seen escaped', (key, shown) => {
    expect(visible(key)).toBe(shown)
  })

  it('are cut in the middle, never inside of a character', () => {
    expect(cut('short', 5)).toBe('short')
    expect(cut('0123456789', 7)).toBe('0123…89')
    expect(Array.from(shownKey('🔒'.repeat(512)))).toHaveLength(120)
    expect(shownKey('🔒'.repeat(512)).isWellFormed()).toBe(true)
  })
})

describe('durations', () => {
  const units = { ms: 'ms', s: 's', min: 'min', h: 'h', d: 'd' }
  it.each([
    [0, '0 ms'],
    [0.004, '0.01 ms'],
    [0.123, '0.12 ms'],
    [1.26, '1.3 ms'],
    [99.6, '100 ms'],
    [1000, '1 s'],
    [1260, '1.3 s'],
    [59_400, '59 s'],
    [60_000, '1 min'],
    [3_599_000, '59 min 59 s'],
    [3_661_000, '1 h 1 min'],
    [90_000_000, '1 d 1 h'],
    [Infinity, '∞'],
  ])('%d ms is %s', (ms, shown) => {
    expect(duration(ms, units)).toBe(shown)
  })
})

describe('addresses', () => {
  it('name the page and what is chosen there, and nothing that is not', () => {
    expect(hrefOf('locks', { q: 'a b&c', service: '', wanted: '1' })).toBe('#/locks?q=a+b%26c&wanted=1')
    expect(hrefOf('health')).toBe('#/health')
  })

  it.each(['..', '#/locks?key=x', 'a&b=c%20', 'ü🔒', '?', '<img onerror=1>'])(
    'bring the key %j back',
    (key) => {
      expect(parseRoute(hrefOf('lock', { key }))).toEqual({ page: 'lock', query: { key } })
    },
  )

  it.each(['', '#', '#/', '#/nowhere?x=1', '#locks/../health', '#%'])('%j is the first page', (hash) => {
    expect(parseRoute(hash)).toEqual({ page: 'locks', query: {} })
  })

  it('carry a token only as #token=', () => {
    expect(tokenIn('#token=abc%2B1')).toBe('abc+1')
    expect(tokenIn('#/locks?token=abc')).toBeNull()
    expect(tokenIn('')).toBeNull()
  })
})
