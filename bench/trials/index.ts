/**
 * `npm run trials`: known failures of lock libraries as programs, put to holdfast and to its peers in one run, on real
 * servers.
 */
import { commandLine, refuse } from '../../scripts/command-line.ts'
import { build } from '../build.ts'
import { type Failure, play } from './cast.ts'
import { type Kind, labelOf, type Name } from './contenders.ts'
import { outOf } from './facts.ts'
import { loadNow, writePage } from './page.ts'
import { Servers, versionOf } from './servers.ts'
import type { Play, Trial } from './trial.ts'
import { TRIALS } from './trials.ts'

/** Libraries at a time: most of them wait most of the time. */
const LANES = 8
const KINDS: readonly Kind[] = ['redis', 'postgres', 'mongo', 'etcd']

const LAST = TRIALS.at(-1)?.id
const USAGE = `npm run trials -- [options]
Tries what is known to go wrong with locks, on holdfast and on other libraries: see docs/comparison.md. Starts servers of
its own; all of it takes about an hour.

  --only R1,R3   some of R1 to ${LAST} (default: all)
  --write        put what was seen into docs/comparison.md`

const { values: options } = commandLine(USAGE, {
  options: { only: { type: 'string' }, write: { type: 'boolean', default: false } },
})
const only = options.only?.toUpperCase().split(',')
const unknown = only?.filter((id) => !TRIALS.some((trial) => trial.id === id)) ?? []
if (unknown.length > 0) refuse(USAGE, `--only: no trial '${unknown.join(', ')}'; there are R1 to ${LAST}`)
build()

const servers = new Servers()
let cause: NodeJS.Signals | null = null
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    cause = signal
    void servers.stop().finally(() => process.exit(130))
  })
}
const start = performance.now()
try {
  for (const trial of TRIALS.filter(({ id }) => !only || only.includes(id))) {
    console.log(`\n${trial.id} ${trial.title}`)
    const load = loadNow()
    const cells = await cellsOf(trial)
    for (const name of trial.contenders) console.log(`  ${name.padEnd(20)} ${cells.get(name) ?? ''}`)
    if (options.write) writePage({ trial, cells, load }, await serverVersions())
  }
  console.log(`\n${((performance.now() - start) / 60_000).toFixed(1)} minutes`)
} catch (error) {
  // Whatever was under way when the servers were stopped.
  if (!cause) throw error
} finally {
  if (!cause) await servers.stop()
}
// Node 20 may spin for ever when it ends by itself after a proxy has reset connections.
if (!cause) process.exit()

async function cellsOf(trial: Trial): Promise<Map<Name, string>> {
  const { contenders, runs, lanes = LANES } = trial
  // What is about cost goes round after round, so that a busy moment of the machine meets all.
  const rounds = lanes === 1 ? runs : 1
  const queue = Array.from({ length: rounds }, () => contenders).flat()
  const plays = new Map<Name, (Play | Failure)[]>(contenders.map((name) => [name, []]))
  const lane = async (): Promise<void> => {
    for (let name = queue.shift(); name && !cause; name = queue.shift())
      plays.get(name)?.push(...(await play(trial, name, runs / rounds, servers)))
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return new Map([...plays].map(([name, played]) => [name, cellOf(trial, played)]))
}

function cellOf(trial: Trial, played: readonly (Play | Failure)[]): string {
  const failures = played.filter((each) => 'failure' in each)
  const ended = played.filter((each) => 'facts' in each)
  const seen = ended.filter(({ facts }) => !('notPlayed' in facts))
  const said = [
    ...failures.slice(0, 1).map(({ failure }) => `${failure}${outOf(failures.length, played.length)}`),
    ...(seen.length > 0 ? [trial.tell(seen)] : []),
  ]
  if (said.length > 0) return said.join('; else: ')
  return `not measured: ${String(ended[0]?.facts['notPlayed'])}`
}

async function serverVersions(): Promise<string[]> {
  const found = []
  for (const kind of KINDS) {
    const server = await servers.borrow(kind)
    found.push((await versionOf(server)) ?? labelOf('raw'))
    servers.giveBack(server)
  }
  return found
}
