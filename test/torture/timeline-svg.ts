import type { Span } from './checks/span.ts'
import type { LeaseBar, Named, Row, Scene } from './timeline-scene.ts'
import { axisTicks, Figure, shortTokens } from './timeline-figure.ts'

const ROW_GAP = 14
const LANE = 44
const TOP = 64

interface Caption {
  readonly title: string
  /** Whether the title is in the picture. */
  readonly headed: boolean
  /** Over what is wrong. */
  readonly wrong: string
  /** Whether it is the holding itself that is wrong. */
  readonly isHold: boolean
}

/** A picture of one violation: a row for each worker, time from left to right. */
export function draw(scene: Scene, caption: Caption, startOfRound: number): string {
  const tokens = shortTokens(scene.rows.flatMap(({ leases }) => leases.flatMap(({ token }) => token ?? [])))
  const heights = scene.rows.map(({ leases }) => Math.max(1, leases.length) * LANE)
  const tops = heights.map((_, i) => TOP + sum(heights.slice(0, i)) + i * ROW_GAP)
  const bottom = TOP + sum(heights) + heights.length * ROW_GAP
  const figure = new Figure(scene, { ...caption, height: bottom + 92 })
  const middle = figure.x((scene.wrong.from + scene.wrong.to) / 2)

  scene.rows.forEach((_, i) => figure.back('row', tops[i] as number, heights[i] as number))
  figure.rect('wrong', scene.wrong, TOP - 4, bottom - TOP - ROW_GAP + 8)
  figure.text('wrong-label', middle, TOP - 12, caption.wrong, 'middle')
  for (const fault of scene.faults) drawTrouble(figure, fault, TOP - 14, bottom)
  for (const { at, label } of axisTicks(scene, startOfRound)) {
    figure.line('grid', at, TOP - 4, at, bottom)
    figure.text('tick', figure.x(at), bottom + 14, label, 'middle')
  }
  const wrongHold = caption.isHold ? scene.wrong : null
  scene.rows.forEach((row, i) => {
    drawRow(figure, row, { y: tops[i] as number, height: heights[i] as number, tokens, wrongHold })
  })
  for (const at of scene.evictions) {
    figure.line('evict', at, TOP - 12, at, bottom)
    if (figure.shows(at)) figure.text('tick', figure.x(at), TOP - 16, 'forced release', 'middle')
  }
  drawLegend(figure, bottom + 40)
  return figure.toString()
}

interface RowStyle {
  readonly y: number
  readonly height: number
  readonly tokens: ReadonlyMap<bigint, string>
  readonly wrongHold: Span | null
}

function drawRow(figure: Figure, row: Row, style: RowStyle): void {
  const { y, height } = style
  figure.text('worker', 12, y + 24, row.worker, 'start')
  for (const trouble of row.troubles) drawTrouble(figure, trouble, y, y + height)
  row.leases.forEach((lease, i) => drawLease(figure, lease, { ...style, y: y + i * LANE }))
  if (row.diedAt !== null && figure.shows(row.diedAt)) {
    figure.line('died', row.diedAt, y, row.diedAt, y + height)
    figure.note(row.diedAt, y + height - 4, 'process ended')
  }
}

function drawTrouble(figure: Figure, trouble: Named, y: number, bottom: number): void {
  figure.rect('trouble', trouble, y, bottom - y)
  figure.note(trouble.from, y + 10, trouble.name)
}

function drawLease(figure: Figure, lease: LeaseBar, { y, tokens, wrongHold }: RowStyle): void {
  const middle = y + 21
  figure.rect('ask', lease.ask, middle - 2, 4)
  for (const { lease: span } of lease.confirmed) figure.rect('lease', span, y + 33, 4)
  const runsOutAt = Math.max(...lease.confirmed.map(({ lease: span }) => span.to))
  if (figure.shows(runsOutAt)) {
    figure.line('runs-out', runsOutAt, y + 28, runsOutAt, y + 42)
    figure.note(runsOutAt, y + 41, 'runs out at the store')
  }
  if (lease.hold) {
    const { from, to } = lease.hold
    if (lease.unseen) figure.rect('unseen', lease.unseen, y + 11, 20)
    figure.rect('hold', lease.hold, y + 11, 20)
    const red = wrongHold && { from: Math.max(from, wrongHold.from), to: Math.min(to, wrongHold.to) }
    if (red && red.from <= red.to) figure.rect('hold-wrong', red, y + 11, 20)
    const label = lease.token === null ? '' : `token ${tokens.get(lease.token) ?? ''}`
    figure.text('token', figure.x(from) + 5, y + 8, label, 'start')
  }
  for (const { at } of lease.confirmed) figure.triangle('store', at, y + 40)
  for (const { at, held } of lease.looks) figure.dot(held ? 'look held' : 'look not-held', at, middle)
  if (lease.lostAt !== null) figure.cross('lost', lease.lostAt, middle)
  if (lease.releaseAt !== null) figure.line('release', lease.releaseAt, y + 7, lease.releaseAt, y + 35)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function drawLegend(figure: Figure, y: number): void {
  const entries: readonly [string, (x: number) => void][] = [
    ['asks', (x) => figure.bar('ask', x, y - 2, 26, 4)],
    ['holds, as it sees it', (x) => figure.bar('hold', x, y - 8, 26, 16)],
    ['perhaps: did not look', (x) => figure.bar('unseen', x, y - 8, 26, 16)],
    ['the lease, by the store', (x) => figure.bar('lease', x, y - 2, 26, 4)],
    ['looked: held', (x) => figure.dotAt('look held', x + 20, y)],
    ['looked: not held', (x) => figure.dotAt('look not-held', x + 20, y)],
    ['told of the loss', (x) => figure.crossAt('lost', x + 20, y)],
    ['releases', (x) => figure.bar('release-sign', x + 19, y - 9, 2, 18)],
    ['the store says yes', (x) => figure.triangleAt('store', x + 20, y + 4)],
    ['fault', (x) => figure.bar('trouble', x, y - 8, 26, 16)],
    ['what is wrong', (x) => figure.bar('hold-wrong', x, y - 8, 26, 16)],
  ]
  const columns = 6
  entries.forEach(([label, sign], i) => {
    const x = 12 + (i % columns) * 180
    const down = Math.floor(i / columns) * 26
    figure.shifted(down, () => {
      sign(x)
      figure.text('tick', x + 32, y + 4, label, 'start')
    })
  })
}
