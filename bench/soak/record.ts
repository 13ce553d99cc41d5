import { writeFileSync } from 'node:fs'
import { listed, type Machine } from '../machine.ts'
import { markdown } from '../markdown.ts'
import { formatted } from '../summary.ts'
import type { Served } from '../store-at.ts'
import { KEEP_MINUTES, type Sample } from './sample.ts'
import type { Course } from './slope.ts'

/** Whether something grows cannot be told if the load itself does not keep its rate. */
export type Verdict = 'steady' | 'GROWS' | 'LOAD NOT STEADY' | 'too short to tell' | 'FAILED'

export interface Result {
  readonly store: Served
  readonly verdict: Verdict
  readonly courses: readonly Course[]
  readonly samples: readonly Sample[]
}

export interface Report {
  readonly minutes: number
  readonly machine: Machine
  readonly results: readonly Result[]
}

const FILE = new URL('../../docs/soak.md', import.meta.url)

/** Writes down what grew, and what did not. */
export function record(report: Report): void {
  writeFileSync(FILE, page(report))
  console.log('\nwritten to docs/soak.md')
}

function page({ minutes, machine, results }: Report): string {
  const measured = results.filter(({ courses }) => courses.length > 0)
  const names = measured[0]?.courses.map(({ name, unit }) => [name, unit].filter(Boolean).join(', ')) ?? []
  return [
    '# Soak',
    '',
    `Written by \`npm run soak -- --store all --minutes ${minutes} --record\`. One process for each store, all at the same`,
    'time on one machine, with two clients that know nothing of each other: keys that are new each time, keys that come',
    'again, two at once, a few that many wait for (some give up), and some that are held for 30 s and renewed.',
    '',
    ...listed(machine),
    '',
    `A sample is taken every 10 s, between two tasks and after a collection. The slope is that of least squares over the`,
    `last two thirds of ${minutes} minutes: before that, tables fill and code is compiled. Records stay for ${KEEP_MINUTES} minutes here,`,
    'so that what comes and what goes are in balance long before. Further records are those besides the keys that were',
    'new in that time; below zero where none stay. SQLite has no connections to a server.',
    '',
    '## What grew, by hour',
    '',
    ...markdown([
      ['', ...names, 'locks', 'lost', 'verdict'],
      ...measured.map(({ store, courses, samples, verdict }) => [
        store,
        ...courses.map(slope),
        formatted(samples.at(-1)?.done.locks ?? 0),
        formatted(samples.at(-1)?.lost ?? 0),
        verdict,
      ]),
    ]),
    '',
    '## What was there at the end',
    '',
    ...markdown([
      ['', ...names],
      ...measured.map(({ store, courses }) => [store, ...courses.map(({ to }) => formatted(to))]),
    ]),
    '',
    '## When it counts as growth',
    '',
    'Bounds follow from the load. What is kept for each lock, or for each new key, would show as that many times their',
    'rate.',
    '',
    '| | at most, by hour |',
    '| --- | --- |',
    '| heap | 10 bytes for each lock: less than anything that could be kept for one |',
    '| rss | 100 bytes for each lock, for pages that an allocator does not give back |',
    '| handles, open files, connections | 1 |',
    '| further records | 2 % of the new keys |',
    '| storage | a fifth of 150 bytes for each new key; a record takes more |',
    '',
    'All of it needs a steady load: if the rate of locks in one sixth of that time is more than 1.5 times that in',
    'another, the verdict is that nothing can be told.',
    '',
  ].join('\n')
}

function slope({ perHour, ok }: Course): string {
  const shown = `${perHour < 0 ? '−' : '+'}${formatted(Math.abs(Number(perHour.toFixed(1))))}`
  return ok ? shown : `**${shown}**`
}
