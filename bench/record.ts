import { readFileSync, writeFileSync } from 'node:fs'
import { type Bar, barChart } from './chart/bar-chart.ts'
import { type Group, GROUPS } from './figures.ts'
import type { Machine } from './machine.ts'
import { markdown } from './markdown.ts'
import { cells, HEADER, type Row } from './summary.ts'

const DOCS = new URL('../docs/', import.meta.url)
const JSON_FILE = new URL('benchmarks.json', DOCS)
const CHART = 'images/benchmarks.svg'

/** What was measured of one group, and when. */
export interface Part {
  readonly group: Group
  readonly date: string
  /** When it began; null if only that of a longer run is known. */
  readonly load: number | null
  readonly notes: readonly string[]
  readonly rows: readonly Row[]
}

type Hardware = Omit<Machine, 'date' | 'load'>

type Recorded = Hardware & { readonly parts: readonly Part[] }

const ADR = '[ADR 41](adr/0041-goals-that-two-shared-cores-do-not-give.md)'
const WHY_NOT = `Why a row says NO is in ${ADR}: what was measured, and what bounds it.`

/** Keeps what was measured, and writes the page. What other groups had stays, if it was on a machine like this one. */
export function record(measured: readonly Part[], { date: _date, load: _load, ...hardware }: Machine): void {
  const before = partsOn(hardware)
  const parts = GROUPS.flatMap((group) => {
    const part = [...measured, ...before].find((each) => each.group === group)
    return part ? [part] : []
  })
  writeFileSync(JSON_FILE, `${JSON.stringify({ ...hardware, parts }, rounded, 1)}\n`)
  writePage()
}

/** The page and its chart, from the figures as they were kept: nothing is measured for it. */
export function writePage(): void {
  writeFileSync(new URL('benchmarks.md', DOCS), page())
  const rows = recorded().parts.flatMap((part) => part.rows)
  writeFileSync(new URL(CHART, DOCS), barChart('Figure by target: right of the line it is met', bars(rows)))
  console.log('written to docs/benchmarks.md')
}

export function page(): string {
  const { processor, cores, memoryGiB, system, node, parts } = recorded()
  const rows = parts.flatMap((part) => part.rows)
  const table = (ratio: boolean): string[] => {
    const shown = rows.filter((row) => row.ratio === ratio)
    const why = shown.some(({ met }) => met === false) ? [WHY_NOT, ''] : []
    return [...why, ...markdown([HEADER, ...shown.map(cells)])]
  }
  return [
    '# Benchmarks',
    '',
    'Written by `npm run bench -- all --record`, or with the names of some groups instead of `all`. It builds the package',
    'and measures the built files. Each round runs in a process of its own; the spread is from the lowest to the highest',
    'round. Rates are wall time; the processor time beside them depends less on what else the machine does. The same',
    'figures are in [benchmarks.json](benchmarks.json); how they grow is in [scaling.md](scaling.md).',
    '',
    `${processor}, ${cores} cores, ${memoryGiB} GiB, ${system}, Node ${node}.`,
    '',
    ...markdown([
      ['group', 'measured on', 'load when it began'],
      ...parts.map(({ group, date, load }) => [group, date, load?.toFixed(1) ?? '']),
    ]),
    '',
    'Groups that were measured in different hours are not to be compared with each other: the machine is twice as quick in',
    'some hours as in others.',
    '',
    '## Ratios',
    '',
    'To the best of the peers, or to what one does with the driver alone, in the same run.',
    '',
    ...table(true),
    '',
    `![How far each figure is from its target](${CHART})`,
    '',
    '## Figures',
    '',
    'Those with a name in the second column are of others, for the same work.',
    '',
    ...table(false),
    '',
    ...new Set(parts.flatMap(({ notes }) => notes.map((line) => `- ${line}`))),
    '',
    '## What is measured',
    '',
    '- **One key, 50 tasks.** Each task enters `using` again and again; the section yields once and checks that it',
    '  is alone. async-mutex runs the same section in `runExclusive` of one mutex. It has no lease, no token, no',
    '  time limit and no other process to think of.',
    '- **Distinct keys, 100 tasks.** Each task takes a new key and gives it back. async-mutex has a mutex per key,',
    '  made on demand and dropped after use.',
    '- **lockable.** One task on one key, in turns with the same call in `using`; the lower quartile of the blocks.',
    '- **10,000 held leases.** Taken evenly over 10 s, then kept for three periods of 10 s. Calls are counted at the',
    '  store; processor time is that of the whole process, the embedded store included.',
    '- **Heap.** `heapUsed` after forced collections, with 10,000 and with 20,000 of them; the difference by 10,000.',
    '- **1,000,000 keys.** After 200,000 keys to warm up; heap after forced collections, live timers of the client,',
    '  and listeners on the signal that every call was given and on the process.',
    '- **PostgreSQL.** A server on the same machine with `fsync` and `synchronous_commit` on; a new database for each',
    '  round. Every grant and every statement of the others waits for the disk. A release of holdfast does not, and',
    '  the bare batches do as it does: what is lost with it in a crash is free when its lease is over. holdfast is given a URL and opens its own pool of 4. *One statement per step* is what',
    '  one writes by hand with `pg`: a prepared `insert … on conflict do update … where` the lease has run out, and a',
    '  prepared `delete`; no token, no renewal, no push. The ratio is that of each round to the best of the peers.',
    '- **PostgreSQL, one task.** In turns with two such statements on one connection, in the same process.',
    '- **PostgreSQL, one key, 4 processes.** Each task is in again and again for 3 s; the section yields once and',
    '  checks that it is alone in its process. Peers poll; holdfast hands a key on inside a process for up to 100 ms.',
    '- **PostgreSQL, hand-over.** From just before the release in one process until another has the key. The goal of three',
    '  round trips is counted in durable writes here, since nobody may act on a grant that is not on disk: each is one',
    '  `update` of one row after a pause as long as that before the release. Of round trips that write nothing it is more',
    `  than three: ${ADR}.`,
    '- **PostgreSQL, 20 processes.** From the release that lets the first in, when all others are in line, to the end',
    '  of the last turn. The same processes for all rounds; the first two do not count.',
    '- **PostgreSQL, steps and growth.** Execution time that `EXPLAIN (ANALYZE)` shows for prepared statements. Sizes',
    '  and counts are those of `pg_stat_user_tables` with autovacuum as it comes; 500 tasks side by side.',
    '- **Redis.** A server on the same machine that keeps nothing on disk; ioredis with one connection for everyone, and',
    '  for peers their usual settings with the limit of tries lifted. *Raw* is `SET NX PX` and a script that compares and',
    '  deletes: no token, no renewal, no push. Each contender must first keep a second one out.',
    '- **Redis, 20 processes.** As on PostgreSQL. Commands are those of `INFO commandstats`; *sent by clients* leaves out',
    '  what scripts call inside the server.',
    '- **Redis, hand-over.** From just before the release in one process until another has the key; a round trip is a PING',
    '  after a pause as long as that before the release.',
    '- **MongoDB.** A replica set of one on the same machine; `{ w: majority, j: true }` and the settings of the driver for',
    '  everyone. Commands are those that the server has counted. mongo-locks does not wait, so it is asked again.',
    '- **MongoDB, hand-over.** From just before the release in one process until another has the key. As on PostgreSQL, the',
    '  goal of three round trips is counted in writes, each one confirmed `updateOne` after a pause as long as that before',
    '  the release. A ping after such a pause is a round trip that writes nothing: its time is among the figures, and a',
    `  hand-over is more than three of these: ${ADR}.`,
    '- **MariaDB.** A server on the same machine that writes every commit to disk. *Plain* is `insert ignore` and `delete`',
    '  through a pool of 10; where a key is held it asks again every 10 ms. verrou has as many connections. Where the',
    '  server ends a step of theirs because of a deadlock, it is done again.',
    '- **MariaDB, hand-over.** As on PostgreSQL, in durable writes, but with turns of 150 ms: who waits can only ask again,',
    '  less and less often, so the longer it has waited the longer it takes.',
    '- **SQLite.** A new file for each round, with the write-ahead log, `synchronous = normal` and `wal_autocheckpoint`',
    '  as the store has them, for everyone. *Plain* is what one writes by hand with the driver that the store uses: a',
    '  prepared `insert … on conflict do update … where` the lease has run out, and a prepared `delete`, each a',
    '  transaction; no token, no renewal, no push. Nobody waits for the disk.',
    '- **SQLite, hand-over.** From just before the release in one process until another has the key; there is no round',
    '  trip to count in, but a transaction: one `update` of one row after a pause as long as that before the release.',
    '- **Watching.** The built files as they are and with counting taken out, in turns with a block of calls each; the',
    '  lower tenth of the blocks. A listener, a subscriber and a tracer do nothing.',
    '',
  ].join('\n')
}

function recorded(): Recorded {
  return JSON.parse(readFileSync(JSON_FILE, 'utf8')) as Recorded
}

/** Of another machine or another Node nothing is kept: one page, one machine. */
function partsOn(hardware: Hardware): readonly Part[] {
  const { parts, ...earlier } = recorded()
  const same = (Object.keys(hardware) as (keyof Hardware)[]).every((name) => earlier[name] === hardware[name])
  return same ? parts : []
}

/** 1 is the target, whichever way it points; more is better. */
function bars(rows: readonly Row[]): Bar[] {
  return rows.flatMap(({ title, who, unit, median, atLeast, atMost, met }) => {
    const value = atLeast === null ? (atMost ?? NaN) / median : median / atLeast
    const name = [title.replaceAll('`', ''), who || unit].join(' · ')
    return met !== null && value > 0 && Number.isFinite(value) ? [{ name, value, met }] : []
  })
}

function rounded(_name: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(4)) : value
}
