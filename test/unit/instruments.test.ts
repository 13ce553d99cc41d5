import { describe, expect, it } from 'vitest'
import { HISTOGRAMS, NUMBERS } from '../../src/monitor/instruments.ts'
import { metricsText } from '../../src/server/metrics.ts'
import { busy } from './support/busy.ts'
import { valuesOf } from './support/otel.ts'

describe('the table of instruments', () => {
  it('makes the server print each name, label, bucket and value as the exporter of OpenTelemetry does', async () => {
    const { sdk, locks } = await busy()
    const [theirs, ours] = [await sdk.values(), valuesOf(metricsText(locks.stats(), locks.identity))]
    const rounded = (values: Map<string, number>): string[] =>
      [...values].map(([name, value]) => `${name} ${value.toFixed(9)}`).sort()
    expect(rounded(ours)).toEqual(rounded(theirs))
    expect(ours.get('holdfast_reentries_total{service="orders",store="memory"}')).toBe(1)
    expect(ours.get('holdfast_holds_total{end="lost",service="orders",store="memory"}')).toBe(1)
    expect(ours.get('holdfast_pool_connection_count{service="orders",state="used",store="memory"}')).toBe(3)
    expect(
      ours.get('holdfast_store_calls_total{outcome="answered",service="orders",step="other",store="memory"}'),
    ).toBe(2)
    await locks.close()
  })

  it('has the names, kinds, units and descriptions that the exporter prints', async () => {
    const { sdk, locks } = await busy()
    const text = await sdk.scrape()
    for (const { prometheus, kind, description, unit } of [...NUMBERS, ...HISTOGRAMS]) {
      expect(text).toContain(`# HELP ${prometheus} ${description}\n`)
      expect(text).toContain(`# UNIT ${prometheus} ${unit}\n`)
      expect(text).toContain(`# TYPE ${prometheus} ${kind}\n`)
    }
    expect(text.match(/^# TYPE /gm)).toHaveLength(NUMBERS.length + HISTOGRAMS.length)
    await locks.close()
  })

  it('names the attributes that its points have', async () => {
    const { locks } = await busy()
    const stats = locks.stats()
    for (const { attributes, read } of [...NUMBERS, ...HISTOGRAMS]) {
      const points = read(stats)
      expect(points.length).toBeGreaterThan(0)
      for (const point of points) expect(Object.keys(point.attributes)).toEqual([...attributes])
    }
    await locks.close()
  })

  it('follows the rules for names: dotted, in lower case, without unit and total, each once', () => {
    const names = [...NUMBERS, ...HISTOGRAMS].map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    for (const name of names) expect(name).toMatch(/^holdfast(\.[a-z_]+)+$/)
    for (const name of names) expect(name).not.toMatch(/total|second|_s$|millis/)
    for (const { bounds, unit } of HISTOGRAMS) {
      expect(unit).toBe('s')
      expect(bounds.map(String).join(' ')).toMatch(/^0\.00001 0\.00002 .* 0\.5 1 2 .* 100000$/)
    }
  })
})
