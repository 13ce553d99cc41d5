import type { JSX } from 'preact'
import { BOUNDS, type HistogramSnapshot } from '../monitor/histogram.ts'
import { counted, lasting, t } from './preferences.ts'
import { useWidth } from './width.ts'

const HEIGHT = 96
const BOTTOM = 18
const TOP = 4
const LABEL_WIDTH = 64

/** How often how long, since the start. */
export function BarChart({ what, times }: { what: string; times: HistogramSnapshot }): JSX.Element {
  const { box, width } = useWidth<HTMLDivElement>()
  const bars = barsOf(times)
  const most = bars.reduce((a, b) => (b.count > a.count ? b : a))
  const step = width.value / bars.length
  const every = Math.ceil(LABEL_WIDTH / step)
  return (
    <div ref={box} class="chart">
      <svg
        width={width.value}
        height={HEIGHT}
        role="img"
        aria-label={t('times.bars', { what, most: lasting(most.upTo) })}
      >
        {bars.map(({ upTo, count }, i) => {
          const height = count === 0 ? 0 : Math.max(2, ((HEIGHT - TOP - BOTTOM) * count) / most.count)
          return (
            <g key={upTo}>
              <rect
                class="column"
                x={i * step + 1}
                y={HEIGHT - BOTTOM - height}
                width={Math.max(1, step - 2)}
                height={height}
                rx={2}
              >
                <title>{`≤ ${lasting(upTo)}: ${counted(count)}`}</title>
              </rect>
              {i % every === 0 && (
                <text x={i * step + 1} y={HEIGHT - 4}>
                  ≤ {lasting(upTo)}
                </text>
              )}
            </g>
          )
        })}
        <line class="grid" x1={0} x2={width.value} y1={HEIGHT - BOTTOM} y2={HEIGHT - BOTTOM} />
      </svg>
    </div>
  )
}

interface Bar {
  readonly upTo: number
  readonly count: number
}

/** From the first bucket with something in it to the last, and one beside each. Empty ones are not sent. */
function barsOf({ buckets }: HistogramSnapshot): Bar[] {
  const counts = new Map(buckets.map(({ leMs, count }) => [leMs ?? Infinity, count]))
  const all = [...BOUNDS, Infinity].map((upTo) => ({ upTo, count: counts.get(upTo) ?? 0 }))
  const first = all.findIndex(({ count }) => count > 0)
  const last = all.findLastIndex(({ count }) => count > 0)
  return all.slice(Math.max(0, first - 1), last + 2)
}
