/**
 * Charts as plain SVG files. They follow the reader's choice of light or dark, also inside of a page that shows them as
 * an image. Colours of the series are told apart by people who see few of them.
 */
const STYLE = `
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-size: 14px; font-weight: 600 }
.small { font-size: 11px; fill: #57606a }
.ground { fill: #ffffff }
.grid { stroke: #d8dee4; stroke-width: 1 }
.goal { stroke: #24292f; stroke-width: 1.5; stroke-dasharray: 4 3 }
.line { fill: none; stroke-width: 2; stroke-linejoin: round }
.met { fill: #1f7a4d } .missed { fill: #c2410c } .free { fill: #6b7280 }
.s0 { stroke: #0b6bcb } .s1 { stroke: #c2410c } .s2 { stroke: #1f7a4d }
.s3 { stroke: #8250df } .s4 { stroke: #b08800 } .s5 { stroke: #57606a }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9198a1 } .ground { fill: #0d1117 }
  .grid { stroke: #30363d } .goal { stroke: #e6edf3 }
  .met { fill: #3fb950 } .missed { fill: #f0883e } .free { fill: #848d97 }
  .s0 { stroke: #58a6ff } .s1 { stroke: #f0883e } .s2 { stroke: #3fb950 }
  .s3 { stroke: #bc8cff } .s4 { stroke: #e3b341 } .s5 { stroke: #848d97 }
}`

export function svg(width: number, height: number, title: string, body: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="ground" width="${width}" height="${height}" rx="6"/>`,
    ...body,
    '</svg>',
    '',
  ].join('\n')
}

type Anchor = 'start' | 'middle' | 'end'

export function text(x: number, y: number, content: string, anchor: Anchor = 'start', kind = ''): string {
  const named = kind === '' ? '' : ` class="${kind}"`
  return `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}"${named}>${escaped(content)}</text>`
}

export function line(x1: number, y1: number, x2: number, y2: number, kind: string): string {
  return `<line class="${kind}" x1="${at(x1)}" y1="${at(y1)}" x2="${at(x2)}" y2="${at(y2)}"/>`
}

/** Files that differ in no more than they have to. */
export function at(value: number): string {
  return String(Math.round(value * 10) / 10)
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
