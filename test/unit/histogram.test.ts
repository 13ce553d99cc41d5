import { describe, expect, it } from 'vitest'
import { Histogram } from '../../src/monitor/histogram.ts'

describe('Histogram', () => {
  it('is empty to begin with', () => {
    expect(new Histogram().snapshot()).toEqual({
      count: 0,
      sumMs: 0,
      maxMs: 0,
      p50: 0,
      p95: 0,
      p99: 0,
      buckets: [],
    })
  })

  it('gives quantiles as bucket bounds, never above the greatest value', () => {
    const histogram = new Histogram()
    for (let ms = 1; ms <= 100; ms += 1) histogram.record(ms)
    expect(histogram.snapshot()).toMatchObject({
      count: 100,
      sumMs: 5050,
      maxMs: 100,
      p50: 50,
      p95: 100,
      p99: 100,
    })
    histogram.record(3)
    expect(histogram.snapshot().buckets.reduce((sum, { count }) => sum + count, 0)).toBe(101)
  })

  it('takes anything from zero to beyond its bounds', () => {
    const histogram = new Histogram()
    for (const ms of [0, 1e-9, 1e12]) histogram.record(ms)
    expect(histogram.snapshot()).toMatchObject({ count: 3, maxMs: 1e12, p50: 0.01, p99: 1e12 })
  })
})
