/**
 * `npm run bench`: measures the built package and compares it with its targets.
 * `npm run bench -- memory postgres` names groups, `--rounds 3` overrides the number of rounds,
 * `--record` measures all and writes docs/benchmarks.md. Exit code 1 if a target is missed.
 */
import { fork } from 'node:child_process'
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openServer, type ServerKind } from '../test/servers/open-server.ts'
import { type Group, GROUPS, type Measurement, MEASUREMENTS, type Peer } from './figures.ts'
import { onServer as onMariadb, versionOf as mariadbVersionOf } from './mariadb/server.ts'
import { onServer as onMongo, versionOf } from './mongo/server.ts'
import { onServer as onPostgres } from './postgres/database.ts'
import { record } from './record.ts'
import { infoOf, onServer as onRedis } from './redis/server.ts'
import { bestOf, cells, HEADER, type Rival, type Row, summarize, timesTheRate } from './summary.ts'
import type { Samples } from './throughput.ts'

const ROUND = fileURLToPath(new URL('./round.ts', import.meta.url))
const MARIADB_ROUND = fileURLToPath(new URL('./mariadb/round.ts', import.meta.url))
const MONGO_ROUND = fileURLToPath(new URL('./mongo/round.ts', import.meta.url))
const REDIS_ROUND = fileURLToPath(new URL('./redis/round.ts', import.meta.url))

interface Server {
  readonly kind: ServerKind
  /** Tells every round where it is. */
  readonly variable: string
  readonly named: (url: string) => Promise<string>
}

const SERVERS: readonly Server[] = [
  { kind: 'postgres', variable: 'HOLDFAST_POSTGRES_URL', named: postgresAt },
  { kind: 'redis', variable: 'HOLDFAST_REDIS_URL', named: redisAt },
  { kind: 'mongo', variable: 'HOLDFAST_MONGODB_URL', named: mongoAt },
  { kind: 'mariadb', variable: 'HOLDFAST_MYSQL_URL', named: (url) => onMariadb(url, mariadbVersionOf) },
]

const { values: options, positionals } = parseArgs({
  options: { record: { type: 'boolean', default: false }, rounds: { type: 'string' } },
  allowPositionals: true,
})
const unknown = positionals.filter((name) => !GROUPS.includes(name as Group))
if (unknown.length > 0) throw new Error(`no group ${unknown.join(', ')}; there are ${GROUPS.join(', ')}`)
if (options.record && positionals.length > 0) throw new Error('--record measures all groups; name none')
const wanted = positionals.length > 0 ? positionals : GROUPS

const rows: Row[] = []
const notes: string[] = []
const [load = 0] = loadavg()
if (load > 0.5) console.log(`the machine is busy (load ${load.toFixed(1)}): rates will be too low`)
const measurements = MEASUREMENTS.filter(({ group }) => wanted.includes(group))
const stops: (() => Promise<void>)[] = []
try {
  // Started here, once, and found by every round.
  for (const { kind, variable, named } of SERVERS) {
    if (!measurements.some(({ group }) => group.startsWith(kind))) continue
    const server = await openServer(kind)
    stops.push(() => server.stop())
    process.env[variable] = server.url
    notes.push(`The server is ${await named(server.url)}`)
  }
  for (const measurement of measurements) {
    console.log(`\n${measurement.title}`)
    const added = conclude(measurement, ...(await measure(measurement)))
    for (const [title, ...rest] of added.map(cells)) {
      const named = title === measurement.title ? rest : [title, ...rest]
      console.log(`  ${named.filter(Boolean).join('  ')}`)
    }
    rows.push(...added)
  }
} finally {
  for (const stop of stops) await stop()
}
console.log(`\n${table([HEADER, ...rows.map(cells)])}\n\n${notes.join('\n')}`)
if (options.record) record(rows, notes, load)
if (rows.some(({ met }) => met === false)) process.exitCode = 1

type Entrant = Peer & Rival

function conclude(measurement: Measurement, own: Samples, entrants: readonly Entrant[]): Row[] {
  const { title, figures, timesBest, note } = measurement
  const { peerFigures = [{ name: 'perSecond', unit: figures[0]?.unit ?? '' }] } = measurement
  const added = figures.map((figure) => summarize(title, figure, own))
  for (const { name, samples } of entrants) {
    added.push(...peerFigures.map((figure) => summarize(`the same with ${name}`, figure, samples)))
  }
  const against = (rival: Rival, atLeast: number): void => {
    const times = { times: timesTheRate(own, rival) }
    added.push(summarize(`against ${rival.name}`, { name: 'times', unit: 'times its rate', atLeast }, times))
  }
  for (const entrant of entrants) if (entrant.times !== undefined) against(entrant, entrant.times)
  const best = bestOf(entrants.filter(({ times }) => times === undefined))
  if (best && timesBest !== undefined) {
    against(best, timesBest)
  } else if (best) {
    const { median } = summarize('', { name: 'times', unit: '' }, { times: timesTheRate(own, best) })
    notes.push(`${title}: ${median.toFixed(2)} times the rate of ${best.name}`)
  }
  if (note !== undefined) notes.push(note)
  return added
}

async function postgresAt(url: string): Promise<string> {
  const { rows: found } = await onPostgres(url, (client) => client.query('show server_version'))
  return `PostgreSQL ${String((found[0] as Record<string, unknown>)['server_version'])}`
}

async function redisAt(url: string): Promise<string> {
  return `Redis ${await onRedis(url, (client) => infoOf(client, 'server', 'redis_version'))}`
}

async function mongoAt(url: string): Promise<string> {
  return `MongoDB ${await onMongo(url, versionOf)}, a replica set of one`
}

/** The peers take turns with us, so that a busy moment of the machine meets all. */
async function measure({ scenario, peers = [], rounds }: Measurement): Promise<[Samples, Entrant[]]> {
  const own: Record<string, number[]> = {}
  const rivals = peers.map((peer) => ({ ...peer, samples: {} as Record<string, number[]> }))
  for (let i = 0; i < Number(options.rounds ?? rounds); i += 1) {
    gather(own, await round(scenario))
    for (const { scenario: theirs, contender, samples } of rivals)
      gather(samples, await round(theirs, contender))
  }
  return [own, rivals]
}

function gather(into: Record<string, number[]>, samples: Samples): void {
  for (const [name, values] of Object.entries(samples)) (into[name] ??= []).push(...values)
}

function round(
  scenario: Measurement['scenario'],
  contender: Peer['contender'] = { kind: 'holdfast' },
): Promise<Samples> {
  return new Promise((resolve, reject) => {
    const execArgv = [
      '--expose-gc',
      '--disable-warning=ExperimentalWarning',
      '--import',
      import.meta.resolve('tsx'),
    ]
    const child = fork(roundOf(scenario), [scenario, JSON.stringify(contender)], { execArgv })
    let samples: Samples | undefined
    child.on('message', (message: Samples) => (samples = message))
    child.on('error', reject)
    child.on('exit', (code) => {
      if (samples && code === 0) resolve(samples)
      else reject(new Error(`${scenario} ended with ${String(code)}`))
    })
  })
}

function roundOf(scenario: string): string {
  if (scenario.startsWith('redis-')) return REDIS_ROUND
  if (scenario.startsWith('mariadb-')) return MARIADB_ROUND
  return scenario.startsWith('mongo-') ? MONGO_ROUND : ROUND
}

function table(lines: readonly (readonly string[])[]): string {
  const widths = HEADER.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
