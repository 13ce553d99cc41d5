import { describe, expect, it } from 'vitest'
import { between, Samples } from '../../src/dashboard/samples.ts'
import { Histogram, type HistogramSnapshot } from '../../src/monitor/histogram.ts'

/** As it comes over the wire: Infinity is null there. */
const sent = (histogram: Histogram): HistogramSnapshot =>
  JSON.parse(JSON.stringify(histogram.snapshot())) as HistogramSnapshot

describe('what came in between two looks', () => {
  it('is told by buckets, without what was there before', () => {
    const histogram = new Histogram()
    for (let i = 0; i < 1000; i++) histogram.record(1)
    const before = sent(histogram)
    for (let i = 0; i < 90; i++) histogram.record(10)
    for (let i = 0; i < 10; i++) histogram.record(400)
    expect(between(before, sent(histogram))).toEqual({ count: 100, p50: 10, p95: 400, p99: 400 })
    expect(between(null, sent(histogram))).toMatchObject({ count: 1100, p50: 1 })
  })

  it('is nothing if nothing came', () => {
    const histogram = new Histogram()
    expect(between(null, sent(histogram))).toBeNull()
    histogram.record(1)
    expect(between(sent(histogram), sent(histogram))).toBeNull()
  })

  it('is all of it after the server has started anew', () => {
    const [old, fresh] = [new Histogram(), new Histogram()]
    for (let i = 0; i < 10; i++) old.record(1)
    fresh.record(5)
    expect(between(sent(old), sent(fresh))).toEqual({ count: 1, p50: 5, p95: 5, p99: 5 })
  })

  it('knows times beyond the last bound', () => {
    const histogram = new Histogram()
    histogram.record(2e8)
    expect(between(null, sent(histogram))).toEqual({ count: 1, p50: 2e8, p95: 2e8, p99: 2e8 })
  })
})

describe('samples', () => {
  it('are kept for six minutes, and each point is about the ten seconds before it', () => {
    const samples = new Samples<HistogramSnapshot>()
    const histogram = new Histogram()
    for (let i = 0; i < 400; i++) {
      if (i === 390) histogram.record(7)
      samples.push(i * 2000, sent(histogram))
    }
    const points = samples.points((value) => value)
    expect(points).toHaveLength(179)
    const heard = points.filter(({ quantiles }) => quantiles).map(({ at }) => at / 2000)
    expect(heard).toEqual([390, 391, 392, 393, 394])
  })
})
