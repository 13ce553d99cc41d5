import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Measurement, Peer } from './figures.ts'
import { bestOf, type Rival, type Row, summarize, timesTheRate } from './summary.ts'
import type { Samples } from './throughput.ts'

const ROUND = new URL('./round.ts', import.meta.url)
/** By how the names of their scenarios begin. */
const ROUNDS: Readonly<Record<string, URL>> = {
  mariadb: new URL('./mariadb/round.ts', import.meta.url),
  mongo: new URL('./mongo/round.ts', import.meta.url),
  redis: new URL('./redis/round.ts', import.meta.url),
  sqlite: new URL('./sqlite/round.ts', import.meta.url),
}

type Entrant = Peer & Rival

/** The peers take turns with us, so that a busy moment of the machine meets all. */
export async function measure(measurement: Measurement, rounds: number): Promise<Row[]> {
  const { scenario, peers = [] } = measurement
  const own: Record<string, number[]> = {}
  const rivals = peers.map((peer) => ({ ...peer, samples: {} as Record<string, number[]> }))
  for (let i = 0; i < rounds; i += 1) {
    gather(own, await round(scenario))
    for (const { scenario: theirs, contender, samples } of rivals)
      gather(samples, await round(theirs, contender))
  }
  return conclude(measurement, own, rivals).map((row) => ({ ...row, rounds }))
}

function conclude(
  measurement: Measurement,
  own: Samples,
  entrants: readonly Entrant[],
): Omit<Row, 'rounds'>[] {
  const { title, figures, timesBest } = measurement
  const { peerFigures = [{ name: 'perSecond', unit: figures[0]?.unit ?? '' }] } = measurement
  const rows = figures.map((figure) => summarize(title, '', figure, own))
  for (const { name, samples } of entrants)
    rows.push(...peerFigures.map((figure) => summarize(title, name, figure, samples)))
  const against = (rival: Rival, atLeast: number | undefined): void => {
    const figure = {
      name: 'times',
      unit: 'times its rate',
      ratio: true,
      ...(atLeast === undefined ? {} : { atLeast }),
    }
    rows.push(summarize(title, `against ${rival.name}`, figure, { times: timesTheRate(own, rival) }))
  }
  for (const entrant of entrants)
    if (entrant.times !== undefined) against(entrant, entrant.times ?? undefined)
  const best = bestOf(entrants.filter(({ times }) => times === undefined))
  if (best) against(best, timesBest)
  return rows
}

function gather(into: Record<string, number[]>, samples: Samples): void {
  for (const [name, values] of Object.entries(samples)) (into[name] ??= []).push(...values)
}

function round(
  scenario: Measurement['scenario'],
  contender: Peer['contender'] = { kind: 'holdfast' },
): Promise<Samples> {
  return inChild<Samples>(roundOf(scenario), [scenario, JSON.stringify(contender)])
}

/** What a process of its own has to say, once. */
export function inChild<T>(file: string, args: readonly string[], flags: readonly string[] = []): Promise<T> {
  return new Promise((resolve, reject) => {
    const execArgv = [
      '--expose-gc',
      '--disable-warning=ExperimentalWarning',
      '--import',
      import.meta.resolve('tsx'),
      ...flags,
    ]
    const child = fork(file, args, { execArgv })
    let answer: T | undefined
    child.on('message', (message) => (answer = message as T))
    child.on('error', reject)
    child.on('exit', (code) => {
      if (answer !== undefined && code === 0) resolve(answer)
      else reject(new Error(`${args[0] ?? file} ended with ${String(code)}`))
    })
  })
}

function roundOf(scenario: string): string {
  return fileURLToPath(ROUNDS[scenario.split('-')[0] ?? ''] ?? ROUND)
}
