import type { ClientName } from '../events.ts'
import { HISTOGRAMS, NUMBERS, type HistogramPoint, type Point } from '../monitor/instruments.ts'
import type { LockStats } from '../monitor/stats.ts'

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** All instruments in the text format of Prometheus, under the names that OpenTelemetry's exporter gives them. */
export function metricsText(stats: LockStats, { store, service }: ClientName): string {
  const common = { store, service }
  const lines: string[] = []
  for (const instrument of NUMBERS) {
    const { prometheus, kind, description } = instrument
    lines.push(...head(prometheus, kind, description))
    for (const { attributes, value } of instrument.read(stats))
      lines.push(`${prometheus}${labels({ ...common, ...attributes })} ${value}`)
  }
  for (const instrument of HISTOGRAMS) {
    const { prometheus, kind, description, bounds } = instrument
    lines.push(...head(prometheus, kind, description))
    for (const point of instrument.read(stats))
      lines.push(...histogramLines(prometheus, common, bounds, point))
  }
  return `${lines.join('\n')}\n`
}

function head(name: string, kind: string, description: string): string[] {
  const help = description.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`]
}

function histogramLines(
  name: string,
  common: Point['attributes'],
  bounds: readonly number[],
  { attributes, count, sum, buckets }: HistogramPoint,
): string[] {
  const all = { ...common, ...attributes }
  let below = 0
  const lines = [...bounds, Infinity].map((bound, index) => {
    below += buckets[index] ?? 0
    return `${name}_bucket${labels({ ...all, le: bound === Infinity ? '+Inf' : String(bound) })} ${below}`
  })
  return [...lines, `${name}_sum${labels(all)} ${sum}`, `${name}_count${labels(all)} ${count}`]
}

function labels(attributes: Point['attributes']): string {
  const pairs = Object.entries(attributes).map(([name, value]) => `${name}="${escaped(value)}"`)
  return `{${pairs.join(',')}}`
}

// The name of a service may be any text.
function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
