import type { StoreName } from './arenas/index.ts'
import type { Figures } from './figures.ts'

/** What a run has come to, for one store. */
export interface Result extends Figures {
  readonly store: StoreName
  readonly violations: number
}

const COLUMNS: readonly (readonly [string, (result: Result) => string | number])[] = [
  ['store', ({ store }) => store],
  ['rounds', ({ rounds }) => rounds],
  ['minutes', ({ minutes }) => Number(minutes.toFixed(1))],
  ['asks', ({ asks }) => asks],
  ['grants', ({ grants }) => grants],
  ['losses', ({ losses }) => losses],
  ['store calls', ({ storeCalls }) => storeCalls],
  ['faults', ({ faults }) => Object.values(faults).reduce((sum, times) => sum + times, 0)],
  ['writes taken', ({ guardedTaken }) => guardedTaken],
  ['stale', ({ guardedStale }) => guardedStale],
  ['unguarded went back', ({ unguardedWentBack }) => unguardedWentBack],
  ['excused overlaps', ({ overlapsExcused }) => overlapsExcused],
  ['pieces in models', ({ piecesChecked }) => piecesChecked],
  ['excused', ({ piecesExcused }) => piecesExcused],
  ['too long', ({ piecesTooLong }) => piecesTooLong],
  ['violations', ({ violations }) => violations],
]

/** For people: what was done and found, then the faults by kind. */
export function table(results: readonly Result[]): string {
  const rows = [
    COLUMNS.map(([title]) => title),
    ...results.map((result) => COLUMNS.map(([, value]) => String(value(result)))),
  ]
  const faults = results.map(
    ({ store, faults }) =>
      `${store}: ${Object.entries(faults)
        .sort(([, a], [, b]) => b - a)
        .map(([fault, times]) => `${fault} ${times}`)
        .join(', ')}`,
  )
  return [...aligned(rows), '', ...faults].join('\n')
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = COLUMNS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  )
}
