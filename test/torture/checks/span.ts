export interface Span {
  readonly from: number
  readonly to: number
}

export function touches(a: Span, b: Span): boolean {
  return a.from <= b.to && b.from <= a.to
}

/** In order, and no two of them touch. */
export function union(spans: readonly Span[]): Span[] {
  const result: { from: number; to: number }[] = []
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    const last = result.at(-1)
    if (last && from <= last.to) last.to = Math.max(last.to, to)
    else result.push({ from, to })
  }
  return result
}

/** What is between the spans of a union, from before the first to after the last. */
export function gaps(united: readonly Span[]): Span[] {
  const starts = [-Infinity, ...united.map(({ to }) => to)]
  const ends = [...united.map(({ from }) => from), Infinity]
  return starts.map((from, i) => ({ from, to: ends[i] as number }))
}

/** How much of `span` is in none of the united spans. */
export function outside(span: Span, united: readonly Span[]): number {
  const inside = united.map(({ from, to }) => Math.min(to, span.to) - Math.max(from, span.from))
  return span.to - span.from - inside.reduce((sum, ms) => sum + Math.max(0, ms), 0)
}
