import type { Locks } from '../locks.ts'
import { parse, wholeNumber } from './arguments.ts'
import { withLocks } from './client.ts'
import type { Command, Terminal } from './command.ts'
import { handOver, ownPrefix, PROBE_LEASE, share, Times, timePairs } from './probe.ts'
import { milliseconds } from './text.ts'

export const benchCommand: Command = {
  name: 'bench',
  summary: 'measure the store',
  help: `usage: holdfast bench [--seconds 5] [--tasks 100]

Measures the configured store from this machine, with keys of its own that are given back. It is
load on the store: think before you point it at one that is at work.

  --seconds N  how long it takes, about (1 to 60)
  --tasks N    how many tasks lock at the same time, each a key of its own (1 to 1000)
`,
  async run({ args, openLocks, terminal }) {
    const { values } = parse(args, {
      seconds: { type: 'string', default: '5' },
      tasks: { type: 'string', default: '100' },
    })
    const phaseMs = (wholeNumber('--seconds', values.seconds, { min: 1, max: 60 }) * 1000) / 3
    const tasks = wholeNumber('--tasks', values.tasks, { min: 1, max: 1000 })
    return withLocks(openLocks, (one) =>
      withLocks(openLocks, (other) => measure([one, other], { tasks, phaseMs }, terminal)),
    )
  },
}

async function measure(
  [one, other]: readonly [Locks, Locks],
  { tasks, phaseMs }: Omit<Load, 'prefix'>,
  terminal: Terminal,
): Promise<number> {
  const prefix = ownPrefix('bench')
  // The connection and what the store creates are not what is measured.
  await timePairs(one, `${prefix}:warm`, 0)
  const step = progress(terminal)
  step(`${tasks} tasks, a key each`)
  await distinct(one, { prefix, tasks, phaseMs }, (line) => step(null, line))
  step('one task')
  const alone = await timePairs(one, `${prefix}:one`, performance.now() + phaseMs)
  step(null, `one task, one key        ${spread(alone)}`)
  step('two clients')
  step(null, `from client to client    ${await between(one, other, `${prefix}:two`, phaseMs)}`)
  return 0
}

interface Load {
  readonly prefix: string
  readonly tasks: number
  readonly phaseMs: number
}

async function distinct(
  locks: Locks,
  { prefix, tasks, phaseMs }: Load,
  tell: (line: string) => void,
): Promise<void> {
  const start = performance.now()
  const until = start + phaseMs
  const each = await Promise.all(
    Array.from({ length: tasks }, (_, index) => timePairs(locks, `${prefix}:${index}`, until)),
  )
  const seconds = (performance.now() - start) / 1000
  const pairs = each.reduce((sum, { count }) => sum + count, 0)
  tell(`${tasks} tasks, a key each`.padEnd(25) + `${Math.round(pairs / seconds)} pairs/s`)
}

/** There and back again. */
async function between(one: Locks, other: Locks, key: string, phaseMs: number): Promise<string> {
  if (!(await share(one, other, key))) return 'not measured: the store is of one client alone'
  const times = new Times()
  const until = performance.now() + phaseMs
  let [from, to] = [one, other]
  let lease = await from.acquire(key, { lease: PROBE_LEASE })
  do {
    const result = await handOver(lease, { from, to, wait: 2000 })
    if (result === null) return 'not measured: a waiter did not get the lock within 2 s'
    times.add(result.ms)
    lease = result.lease
    ;[from, to] = [to, from]
  } while (performance.now() < until)
  await lease.release()
  return spread(times)
}

function spread(times: Times): string {
  return `p50 ${milliseconds(times.quantile(0.5))}, p95 ${milliseconds(times.quantile(0.95))} (${times.count} times)`
}

/** What it is at, on a terminal only; and what it has found, in its place. */
function progress({ out, isTTY }: Terminal): (doing: string | null, found?: string) => void {
  return (doing, found) => {
    if (found !== undefined) out.write(`${isTTY ? '\r\u{1b}[K' : ''}${found}\n`)
    else if (isTTY) out.write(`\r\u{1b}[K${doing ?? ''} …`)
  }
}
