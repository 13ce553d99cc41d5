import { at, line, svg, text } from './svg.ts'

export interface Line {
  readonly name: string
  readonly points: readonly { readonly x: number; readonly y: number }[]
}

const [WIDTH, HEIGHT] = [760, 420]
const BOX = { left: 74, right: 620, top: 48, bottom: 362 }
const LABEL_GAP = 16

/** Both axes are logarithmic: a cost that grows with `x` is a slope, one that does not is level. */
export function lineChart(title: string, xAxis: string, yAxis: string, lines: readonly Line[]): string {
  const all = lines.flatMap(({ points }) => points)
  const xs = [...new Set(all.map(({ x }) => x))].sort((a, b) => a - b)
  const decades = decadesAround(all.map(({ y }) => y))
  const toX = scale([xs[0] ?? 1, xs.at(-1) ?? 10], [BOX.left, BOX.right])
  const toY = scale([decades[0] ?? 1, decades.at(-1) ?? 10], [BOX.bottom, BOX.top])
  const body = [text(16, 26, title, 'start', 'title')]
  for (const x of xs) {
    body.push(line(toX(x), BOX.top, toX(x), BOX.bottom, 'grid'))
    body.push(text(toX(x), BOX.bottom + 18, x.toLocaleString('en'), 'middle', 'small'))
  }
  for (const y of decades) {
    body.push(line(BOX.left, toY(y), BOX.right, toY(y), 'grid'))
    body.push(text(BOX.left - 8, toY(y) + 4, y.toLocaleString('en'), 'end', 'small'))
  }
  body.push(text((BOX.left + BOX.right) / 2, HEIGHT - 18, xAxis, 'middle'))
  body.push(`<g transform="rotate(-90 18 ${(BOX.top + BOX.bottom) / 2})">`)
  body.push(text(18, (BOX.top + BOX.bottom) / 2, yAxis, 'middle'), '</g>')
  for (const [index, { points }] of lines.entries()) {
    const path = points.map(({ x, y }) => `${at(toX(x))},${at(toY(y))}`).join(' ')
    body.push(`<polyline class="line s${index}" points="${path}"/>`)
  }
  return svg(WIDTH, HEIGHT, title, [...body, ...labels(lines, toX, toY)])
}

type Scale = (value: number) => number

/** Names stand where their lines end, moved apart where those are close. */
function labels(lines: readonly Line[], toX: Scale, toY: Scale): string[] {
  const ends = lines.map(({ name, points }, index) => {
    const { x, y } = points.at(-1) ?? { x: 1, y: 1 }
    return { name, index, x: toX(x), y: toY(y), shown: toY(y) }
  })
  ends.sort((a, b) => a.y - b.y)
  for (const [index, end] of ends.entries()) {
    const above = ends[index - 1]
    if (above) end.shown = Math.max(end.shown, above.shown + LABEL_GAP)
  }
  return ends.flatMap(({ name, index, x, y, shown }) => [
    `<polyline class="line s${index}" style="stroke-width:1" points="${at(x)},${at(y)} ${at(BOX.right + 18)},${at(shown)}"/>`,
    text(BOX.right + 22, shown + 4, name),
  ])
}

function scale([from, to]: [number, number], [start, end]: [number, number]): Scale {
  const span = Math.log(to) - Math.log(from)
  return (value) => start + ((Math.log(value) - Math.log(from)) / span) * (end - start)
}

function decadesAround(values: readonly number[]): number[] {
  const first = Math.floor(Math.log10(Math.min(...values)))
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...values))))
  return Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i))
}
