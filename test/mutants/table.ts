import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './copy.ts'
import { grouped } from './grouped.ts'
import type { Finding } from './proof.ts'

export interface Row extends Finding {
  readonly bug: string
  readonly part: string
  /** Why it is not as it should be. */
  readonly failure: string | null
}

const PAGE = 'docs/mutants.md'
const [BEGIN, END] = ['<!-- written by npm run mutants -- --write -->', '<!-- end -->']
const HEADS = ['bug', 'in', 'caught by', 'after'] as const

export function tableOf(rows: readonly Row[]): string {
  const lines = [HEADS, ...rows.map(cellsOf)]
  return lines.map((cells) => padded(cells)).join('\n')
}

export function lineOf(row: Row): string {
  return padded(cellsOf(row))
}

function cellsOf({ bug, part, caughtBy, after, failure }: Row): readonly string[] {
  return [bug, part, caughtBy ?? (failure === null ? '' : 'NOTHING'), after]
}

function padded([bug = '', part = '', caughtBy = '', after = '']: readonly string[]): string {
  return `${bug.padEnd(80)} ${part.padEnd(18)} ${after.padEnd(14)} ${caughtBy}`.trimEnd()
}

/**
 * Puts a section for each part that was run between the marks of the page, and leaves the others as they are. `parts`
 * are all that there are, in order.
 */
export function writePage(rows: readonly Row[], parts: readonly string[]): void {
  const path = join(ROOT, PAGE)
  const [before = '', rest = ''] = readFileSync(path, 'utf8').split(BEGIN)
  const [written = '', after = ''] = rest.split(END)
  const sections = new Map(
    written.split(/^(?=## )/m).flatMap((text) => {
      const [head = ''] = text.split('\n')
      return head.startsWith('## ') ? [[head, text.trim()] as const] : []
    }),
  )
  const bugs = rows.filter(({ part }) => part !== 'no bug')
  const date = new Date().toISOString().slice(0, 10)
  for (const [part, some] of grouped(bugs, (row) => row.part)) {
    const head = headOf(part)
    const summary = `${date}: all ${some.length} caught, and none of the tests failed without a bug.`
    sections.set(head, [head, summary, markdown(some)].join('\n\n'))
  }
  const text = parts.flatMap((part) => sections.get(headOf(part)) ?? []).join('\n\n')
  writeFileSync(path, `${before}${BEGIN}\n\n${text}\n\n${END}${after}`)
}

function headOf(part: string): string {
  return `## ${part.charAt(0).toUpperCase()}${part.slice(1)}`
}

function markdown(rows: readonly Row[]): string {
  const lines = rows.map(({ bug, caughtBy, after }) => [bug, shown(caughtBy), after])
  const all = [['bug', 'caught by', 'after'], ['---', '---', '---'], ...lines]
  return all.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n')
}

/** Files in backticks. */
function shown(caughtBy: string | null): string {
  const [place = '', ...what] = (caughtBy ?? '').split(': ')
  return place.startsWith('test/') ? `${what.join(': ')} (\`${place}\`)` : (caughtBy ?? '')
}
