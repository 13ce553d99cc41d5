import { cut, painted, shown, width } from './text.ts'

export interface Column<T> {
  readonly title: string
  readonly cell: (row: T) => string
  /** Numbers stand at the right. */
  readonly right?: boolean
  /** May be cut where the terminal is too narrow, down to this many columns. */
  readonly least?: number
}

const GAP = '  '

/** Lines that fit into `columns`, the first one with the titles. Whatever the cells say, each row is one line. */
export function table<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  { columns: limit, colour }: { readonly columns: number; readonly colour: boolean },
): string[] {
  const cells = rows.map((row) => columns.map(({ cell }) => shown(cell(row))))
  const widths = columns.map(({ title }, index) => {
    let most = width(title)
    for (const row of cells) most = Math.max(most, width(row[index] ?? ''))
    return most
  })
  fit(widths, columns, limit - GAP.length * (columns.length - 1))
  const line = (row: readonly string[]): string => {
    const padded = row.map((cell, index) => pad(cell, widths[index] ?? 0, columns[index]?.right === true))
    return cut(padded.join(GAP).trimEnd(), limit)
  }
  const titles = painted(line(columns.map(({ title }) => title)), 'bold', colour)
  return [titles, ...cells.map(line)]
}

/** Takes from the widest that can give, until it fits or none can. */
function fit<T>(widths: number[], columns: readonly Column<T>[], limit: number): void {
  for (let excess = widths.reduce((a, b) => a + b, 0) - limit; excess > 0; excess -= 1) {
    let widest = -1
    for (const [index, { least = Infinity }] of columns.entries()) {
      const own = widths[index] ?? 0
      if (own > least && own > (widths[widest] ?? 0)) widest = index
    }
    if (widest < 0) return
    widths[widest] = (widths[widest] ?? 0) - 1
  }
}

function pad(cell: string, columns: number, right: boolean): string {
  const text = cut(cell, columns)
  const space = ' '.repeat(Math.max(0, columns - width(text)))
  return right ? `${space}${text}` : `${text}${space}`
}
