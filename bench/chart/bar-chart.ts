import { formatted } from '../summary.ts'
import { at, line, svg, text } from './svg.ts'

export interface Bar {
  readonly name: string
  /** As a multiple of what was to be reached. */
  readonly value: number
  readonly met: boolean
}

const WIDTH = 1_000
const [NAMES, LEFT, RIGHT] = [16, 600, 930]
const [TOP, STEP, THICK] = [64, 20, 12]
const MOST_NAMED = 92

/** On a logarithmic axis, from the line that is the target: to the right what is better, to the left what is missing. */
export function barChart(title: string, bars: readonly Bar[]): string {
  const values = bars.map(({ value }) => value)
  const first = Math.min(-1, Math.floor(Math.log10(Math.min(1, ...values))))
  const last = Math.max(1, Math.ceil(Math.log10(Math.max(1, ...values))))
  const toX = (value: number): number =>
    LEFT + ((Math.log10(value) - first) / (last - first)) * (RIGHT - LEFT)
  const bottom = TOP + bars.length * STEP
  const body = [text(NAMES, 26, title, 'start', 'title')]
  for (let exponent = first; exponent <= last; exponent += 1) {
    const x = toX(10 ** exponent)
    body.push(line(x, TOP - 8, x, bottom, exponent === 0 ? 'goal' : 'grid'))
    body.push(text(x, TOP - 14, `${(10 ** exponent).toLocaleString('en')} ×`, 'middle', 'small'))
  }
  for (const [index, { name, value, met }] of bars.entries()) {
    const y = TOP + index * STEP
    const [from, to] = value < 1 ? [toX(value), toX(1)] : [toX(1), toX(value)]
    const width = Math.max(1, to - from)
    body.push(text(NAMES, y + THICK - 1, shortened(name), 'start', 'small'))
    body.push(
      `<rect class="${met ? 'met' : 'missed'}" x="${at(from)}" y="${at(y)}" width="${at(width)}" height="${THICK}" rx="2"/>`,
    )
    body.push(text(Math.max(to, toX(1)) + 6, y + THICK - 1, formatted(value), 'start', 'small'))
  }
  return svg(WIDTH, bottom + 16, title, body)
}

function shortened(name: string): string {
  return name.length > MOST_NAMED ? `${name.slice(0, MOST_NAMED - 1)}…` : name
}
