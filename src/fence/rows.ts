import type { FenceRows } from './fence.ts'
import { invalid } from './verdict.ts'

/** The rows, whatever the client wraps them in. */
export function rowsOf(result: FenceRows): readonly unknown[] {
  const rows = Array.isArray(result) ? result : (result as { rows?: unknown } | null | undefined)?.rows
  if (Array.isArray(rows)) return rows
  // Passing would be a check that checks nothing.
  throw invalid('the function that runs queries must return the rows, or an object with rows')
}

/** The text in the only column of the only row; null if there is no row. Clients may rename columns. */
export function textIn(rows: readonly unknown[]): string | null {
  const [row] = rows
  if (row === undefined) return null
  const value: unknown = typeof row === 'object' && row !== null ? Object.values(row)[0] : undefined
  if (rows.length === 1 && typeof value === 'string') return value
  throw invalid('the function that runs queries returned something else than the row that was asked for')
}

export function tokenIn(rows: readonly unknown[]): bigint | null {
  const text = textIn(rows)
  return text === null ? null : BigInt(text)
}

/** What a check returns: always a row. */
export function seenIn(rows: readonly unknown[]): bigint {
  const seen = tokenIn(rows)
  if (seen === null)
    throw invalid('the function that runs queries must return the row that the statement returns')
  return seen
}
