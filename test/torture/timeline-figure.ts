import type { Span } from './checks/span.ts'

const WIDTH = 1100
const LEFT = 104
const RIGHT = 20

/** Light, or dark if its reader is. Also alone, as a file of its own. */
const STYLE = `
svg{--ground:#fff;--row:#f4f5f7;--ink:#1c2430;--soft:#667085;--line:#d9dee7;--hold:#3f73c4;--ask:#9db7e0;--lease:#5a9e83;--trouble:#e9a23b;--wrong:#d92d20}
@media(prefers-color-scheme:dark){svg{--ground:#12161d;--row:#1b212b;--ink:#e8ecf3;--soft:#98a4b8;--line:#313b4b;--hold:#6c9ae6;--ask:#3f5f94;--lease:#56b391;--trouble:#b97f2c;--wrong:#ff6b5e}}
text{font:12px system-ui,sans-serif;fill:var(--ink)}.ground{fill:var(--ground)}.row{fill:var(--row)}.title{font-size:15px;font-weight:600}
.worker{font-size:14px;font-weight:600}.tick{font-size:11px;fill:var(--soft)}.token{font-size:11px}.grid{stroke:var(--line)}
.ask{fill:var(--ask)}.hold{fill:var(--hold)}.unseen{fill:var(--hold);fill-opacity:.3}.lease{fill:var(--lease)}.store{fill:var(--lease)}.runs-out{stroke:var(--lease);stroke-width:2}
.trouble{fill:var(--trouble);fill-opacity:.28}.look{stroke:var(--ground);stroke-width:1.5}.look.held{fill:var(--ink)}
.look.not-held{fill:var(--ground);stroke:var(--ink)}.lost{stroke:var(--trouble);stroke-width:3}.release{stroke:var(--ink);stroke-width:2}.release-sign{fill:var(--ink)}
.died,.evict{stroke:var(--soft);stroke-width:1.5;stroke-dasharray:5 4}.wrong{fill:var(--wrong);fill-opacity:.14;stroke:var(--wrong);stroke-width:1.5}.hold-wrong{fill:var(--wrong)}
.wrong-label{fill:var(--wrong);font-weight:700;font-size:13px}`

/** Of which a picture without its title in it does without. */
const HEAD = 28

interface Frame {
  readonly title: string
  readonly headed: boolean
  readonly height: number
}

type Anchor = 'start' | 'middle' | 'end'

/** An SVG in the making. What is outside of the span it shows is left out, or cut off. */
export class Figure {
  readonly #span: Span
  readonly #height: number
  readonly #parts: string[] = []
  readonly #title: string
  readonly #headed: boolean

  constructor(span: Span, { title, headed, height }: Frame) {
    this.#span = span
    this.#title = title
    this.#headed = headed
    this.#height = height
  }

  x(at: number): number {
    const { from, to } = this.#span
    const part = (Math.min(Math.max(at, from), to) - from) / (to - from)
    return round(LEFT + part * (WIDTH - LEFT - RIGHT))
  }

  shows(at: number): boolean {
    return at >= this.#span.from && at <= this.#span.to
  }

  /** What is wrong may be one moment: it is seen all the same. */
  rect(kind: string, { from, to }: Span, y: number, height: number): void {
    if (from > this.#span.to || to < this.#span.from) return
    this.bar(kind, this.x(from), y, Math.max(2, this.x(to) - this.x(from)), height)
  }

  bar(kind: string, x: number, y: number, width: number, height: number): void {
    this.#add('rect', { class: kind, x, y, width: round(width), height, rx: Math.min(3, height / 2) })
  }

  back(kind: string, y: number, height: number): void {
    this.#add('rect', { class: kind, x: 0, y, width: WIDTH, height })
  }

  line(kind: string, from: number, y1: number, to: number, y2: number): void {
    if (this.shows(from)) this.#add('line', { class: kind, x1: this.x(from), y1, x2: this.x(to), y2 })
  }

  text(kind: string, x: number, y: number, text: string, anchor: Anchor): void {
    this.#add('text', { class: kind, x: round(x), y, 'text-anchor': anchor }, escape(text))
  }

  /** Beside a moment, on the side where there is room. */
  note(at: number, y: number, text: string): void {
    const x = this.x(at)
    if (x > WIDTH - 140) this.text('tick', x - 4, y, text, 'end')
    else this.text('tick', x + 4, y, text, 'start')
  }

  dot(kind: string, at: number, y: number): void {
    if (this.shows(at)) this.dotAt(kind, this.x(at), y)
  }

  dotAt(kind: string, x: number, y: number): void {
    this.#add('circle', { class: kind, cx: x, cy: y, r: 4 })
  }

  cross(kind: string, at: number, y: number): void {
    if (this.shows(at)) this.crossAt(kind, this.x(at), y)
  }

  crossAt(kind: string, x: number, y: number): void {
    this.#add('path', { class: kind, d: `M${x - 6} ${y - 6}l12 12m0 -12l-12 12` })
  }

  triangle(kind: string, at: number, y: number): void {
    if (this.shows(at)) this.triangleAt(kind, this.x(at), y)
  }

  triangleAt(kind: string, x: number, y: number): void {
    this.#add('path', { class: kind, d: `M${x - 5} ${y}h10l-5 -8z` })
  }

  shifted(down: number, paint: () => void): void {
    this.#parts.push(`<g transform="translate(0 ${down})">`)
    paint()
    this.#parts.push('</g>')
  }

  toString(): string {
    const top = this.#headed ? 0 : HEAD
    const height = this.#height - top
    const size = `viewBox="0 ${top} ${WIDTH} ${height}" width="${WIDTH}" height="${height}"`
    const head = `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img"><title>${escape(this.#title)}</title>`
    const ground = `<rect class="ground" width="${WIDTH}" height="${this.#height}"/>`
    const heading = this.#headed ? `<text class="title" x="12" y="22">${escape(this.#title)}</text>` : ''
    return [head, `<style>${STYLE.trim()}</style>`, ground, heading, ...this.#parts, '</svg>'].join('\n')
  }

  #add(tag: string, attributes: Record<string, string | number>, content = ''): void {
    const text = Object.entries(attributes).map(([name, value]) => ` ${name}="${value}"`)
    this.#parts.push(`<${tag}${text.join('')}>${content}</${tag}>`)
  }
}

/** A few round times, in milliseconds since the round began. */
export function axisTicks(
  { from, to }: Span,
  start: number,
): { readonly at: number; readonly label: string }[] {
  const rough = (to - from) / 8
  const unit = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((times) => times * unit).find((each) => each >= rough) ?? rough
  const ticks = []
  for (let at = Math.ceil((from - start) / step) * step; at <= to - start; at += step) {
    ticks.push({ at: at + start, label: `${Math.round(at).toLocaleString('en')} ms` })
  }
  return ticks
}

/** A token has nineteen digits, of which the first are the same: the last ones, as many as tell them apart. */
export function shortTokens(tokens: readonly bigint[]): Map<bigint, string> {
  const texts = [...new Set(tokens)].map(String)
  let digits = 4
  while (digits < 20 && new Set(texts.map((text) => text.slice(-digits))).size < texts.length) digits += 1
  return new Map(texts.map((text) => [BigInt(text), text.length > digits ? `…${text.slice(-digits)}` : text]))
}

export function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
