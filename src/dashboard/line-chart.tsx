import type { JSX } from 'preact'
import { Empty } from './empty.tsx'
import { lasting, t } from './preferences.ts'
import type { Point, Quantiles } from './samples.ts'
import { useWidth } from './width.ts'

const HEIGHT = 150
const LEFT = 72
const BOTTOM = 18
const TOP = 8
const RIGHT = 8
/** However short the page has been open. */
const SHORTEST_MS = 60_000
const SERIES = ['p50', 'p95', 'p99'] as const

/** Three curves over time. Times go over many powers of ten, and so does the scale. */
export function LineChart({ what, points }: { what: string; points: readonly Point[] }): JSX.Element {
  const { box, width } = useWidth<HTMLDivElement>()
  const measured = points.flatMap(({ quantiles }) => quantiles ?? [])
  const last = measured.at(-1)
  return (
    <div ref={box} class="chart">
      {last ? (
        <Drawing width={width.value} points={points} measured={measured} label={labelOf(what, last)} />
      ) : (
        <Empty>{t('times.gathering')}</Empty>
      )}
    </div>
  )
}

function labelOf(what: string, last: Quantiles): string {
  return t('times.chart', { what, values: SERIES.map((name) => `${name} ${lasting(last[name])}`).join(', ') })
}

interface DrawingProps {
  readonly width: number
  readonly points: readonly Point[]
  readonly measured: readonly Quantiles[]
  readonly label: string
}

function Drawing({ width, points, measured, label }: DrawingProps): JSX.Element {
  const low = Math.floor(Math.log10(Math.max(0.001, Math.min(...measured.map(({ p50 }) => p50)))))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(0.01, ...measured.map(({ p99 }) => p99)))))
  const end = points.at(-1)!.at
  const span = Math.max(SHORTEST_MS, end - points[0]!.at)
  const x = (at: number): number => LEFT + (width - LEFT - RIGHT) * (1 - (end - at) / span)
  const y = (ms: number): number =>
    TOP + (HEIGHT - TOP - BOTTOM) * (1 - (Math.log10(Math.max(ms, 10 ** low)) - low) / (high - low))
  const steps = Array.from({ length: high - low + 1 }, (_none, i) => 10 ** (low + i))
  return (
    <svg width={width} height={HEIGHT} role="img" aria-label={label}>
      {steps.map((ms) => (
        <g key={ms}>
          <line class="grid" x1={LEFT} x2={width - RIGHT} y1={y(ms)} y2={y(ms)} />
          <text x={LEFT - 6} y={y(ms) + 4} text-anchor="end">
            {lasting(ms)}
          </text>
        </g>
      ))}
      <text x={LEFT} y={HEIGHT - 3}>
        {t('times.ago', { time: lasting(Math.round(span / 1000) * 1000) })}
      </text>
      <text x={width - RIGHT} y={HEIGHT - 3} text-anchor="end">
        {t('times.now')}
      </text>
      {SERIES.map((name, i) => (
        <path key={name} class={`series-${i + 1}`} d={pathOf(points, name, x, y)} />
      ))}
    </svg>
  )
}

/** With a gap where nothing was measured. */
function pathOf(
  points: readonly Point[],
  name: (typeof SERIES)[number],
  x: (at: number) => number,
  y: (ms: number) => number,
): string {
  let drawing = false
  return points
    .map(({ at, quantiles }) => {
      const step = drawing ? 'L' : 'M'
      drawing = quantiles !== null
      // A point alone is a line of no length, which a round end makes visible.
      return quantiles
        ? `${step}${x(at).toFixed(1)} ${y(quantiles[name]).toFixed(1)}${step === 'M' ? 'h0' : ''}`
        : ''
    })
    .join('')
}
