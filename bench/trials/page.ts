import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, totalmem, type } from 'node:os'
import { labelOf, type Name, versionOf } from './contenders.ts'
import { sizes } from './sizes.ts'
import type { Trial } from './trial.ts'
import { TRIALS } from './trials.ts'

export interface Result {
  readonly trial: Trial
  readonly cells: ReadonlyMap<Name, string>
  /** Of the machine when it began: others may have been at work. */
  readonly load: number
}

const FILE = new URL('../../docs/comparison.md', import.meta.url)
const BEGIN = '<!-- trials: written by `npm run trials -- --write` -->'
const END = '<!-- end of trials -->'

/** Puts a result between two comments of the page, in place of an older one; the rest of it is written by hand. */
export function writePage(result: Result, servers: readonly string[]): void {
  const [before, old, after] = readFileSync(FILE, 'utf8').split(new RegExp(`${BEGIN}|${END}`))
  if (old === undefined || after === undefined)
    throw new Error(`${FILE.pathname} has no place for the trials`)
  const sections = new Map(old.split(/^(?=### )/m).map((text) => [/^### (\w+)\./.exec(text)?.[1], text]))
  sections.set(result.trial.id, sectionOf(result))
  const [cpu] = cpus()
  const lines = [
    `- Machine: ${cpu?.model.trim() ?? 'unknown'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB; ${type()}, Node ${process.version}`,
    `- Servers: ${servers.join(', ')}; all on the same machine`,
    `- Clients: ioredis ${versionOf('ioredis')}, redis ${versionOf('redis')}, pg ${versionOf('pg')}, mongodb ${versionOf('mongodb')}`,
    '- Under each table: the date, and the load of the machine when its trial began. A load well above the number of',
    '  cores makes all times longer, those of holdfast as well.',
    '',
  ]
  const texts = TRIALS.map(({ id }) => sections.get(id) ?? '')
  const written = `\n${lines.join('\n')}\n${texts.join('')}${sizes().join('\n')}`
  writeFileSync(FILE, `${before}${BEGIN}\n${written}\n${END}${after}`)
}

/** How heavy a load was, for people. */
export function loadNow(): number {
  return loadavg()[0] ?? 0
}

function sectionOf({ trial, cells, load }: Result): string {
  const { id, title, done, wish, absent, runs, contenders } = trial
  const when = `${new Date().toISOString().slice(0, 10)}, load ${load.toFixed(1)}.`
  return [
    `### ${id}. ${title}`,
    '',
    `${done}${runs > 1 ? ` Median of ${runs} runs.` : ''}`,
    '',
    `**Wished for:** ${lower(wish)}`,
    '',
    '| library | what was seen |',
    '|---|---|',
    ...contenders.map((name) => `| ${labelOf(name)} | ${cell(cells.get(name) ?? '')} |`),
    '',
    [absent, when].filter(Boolean).join(' '),
    '',
    '',
  ].join('\n')
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
}

function lower(text: string): string {
  return /^(As|The|They|It|Word|No|Nothing|Nobody|They) /.test(text)
    ? text.charAt(0).toLowerCase() + text.slice(1)
    : text
}
