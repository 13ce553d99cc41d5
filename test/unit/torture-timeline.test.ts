import { describe, expect, it } from 'vitest'
import { check } from '../torture/check.ts'
import { timeline, timelineSvg } from '../torture/timeline.ts'
import type { Violation } from '../torture/violation.ts'
import { Story } from './torture-story.ts'

const story = new Story()
  .hold('w1', { from: 1000, to: 2000, grant: 5, releases: false, ok: false })
  .hold('w2', { from: 1500, to: 2500, grant: 6 })
  .hold('w3', { from: 1400, to: 1600, grant: 7, key: 'other' })
  .fault(1200, 1300, { target: 'w1' })
const { entries } = story
const [overlap] = check(entries) as [Violation]

describe('the timeline of a violation', () => {
  it('shows those who took part, and says in words what is wrong', () => {
    const page = timeline(entries, [overlap])
    expect(page).toContain('>w1</text>')
    expect(page).toContain('>w2</text>')
    expect(page).not.toContain('>w3</text>')
    expect(page).toContain('w2 held &quot;k&quot; (token 6144) while w1 did (token 5120)')
    expect(page).toContain('499 ms: two hold it')
    expect(page).toContain('>flush</text>')
  })

  it('paints the overlap of both in red, over the same time', () => {
    const reds =
      timelineSvg(entries, overlap).match(/class="hold-wrong" x="[\d.]+" y="[\d.]+" width="[\d.]+"/g) ?? []
    const [first, second, legend] = reds.map((red) => red.match(/[\d.]+/g)?.map(Number) ?? [])
    expect(first?.[0]).toBe(second?.[0])
    expect(first?.[2]).toBe(second?.[2])
    expect(legend?.[2]).toBe(26)
  })

  it('needs nothing but itself', () => {
    const page = timeline(entries, check(entries))
    expect(page).not.toMatch(/<script|src=|href=|url\(/)
    expect(timeline(entries, [])).toContain('Nothing is wrong')
  })

  it('keeps the names of keys out of its markup', () => {
    const named: Violation = { ...overlap, message: 'of "<b>&' }
    expect(timelineSvg(entries, named)).toContain('of &quot;&lt;b&gt;&amp;')
  })

  it('draws a violation of no key and of one moment', () => {
    const moment: Violation = {
      guarantee: 'G7',
      message: 'w1 died',
      key: null,
      from: 1800,
      to: 1800,
      workers: ['w1'],
    }
    expect(timelineSvg(entries, moment)).toContain('class="wrong"')
  })

  it('has tags that all end', () => {
    const open: string[] = []
    for (const [, end, name, rest] of timelineSvg(entries, overlap).matchAll(/<(\/?)([a-z]+)([^>]*)>/g)) {
      if (end) expect(open.pop()).toBe(name)
      else if (!rest?.endsWith('/')) open.push(name ?? '')
    }
    expect(open).toEqual([])
  })
})
