import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { onAbort } from '../abort.ts'
import { Ending } from './ending.ts'
import { Descendants, type Family, Group, hasTerminal, send } from './family.ts'
import { explain } from './failure.ts'
import { codeOf, type PassedOn, type Signals } from './signals.ts'
import { shown } from './text.ts'
import { Watchdog } from './watchdog.ts'

/** As shells have them. */
const NOT_FOUND = 127
const NOT_EXECUTABLE = 126
const LOOK_EACH_MS = 20

export interface ChildTerms {
  /** The program and its arguments. */
  readonly command: readonly string[]
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number
  readonly signals: Signals
  readonly say: (line: string) => void
  /** Called when the command runs. Until then there is nothing that a loss of the lock could harm. */
  readonly started: () => void
}

/** What the command runs under. */
interface Cover {
  readonly key: string
  readonly token: bigint
  /** Aborts when the lock is lost, which ends the command. */
  readonly signal: AbortSignal
}

/**
 * Runs the command to its end, and resolves to its exit code when all of its family have ended too. It outlives the
 * lock by no more than the grace, and does not outlive this process.
 */
export async function runChild(terms: ChildTerms, cover: Cover): Promise<number> {
  // Asked to end after the wait and before the command: there is nobody to pass it on to.
  if (terms.signals.asked.aborted) return terms.signals.code
  const atTerminal = hasTerminal()
  // First, so that the command is not without it for as long as a shell takes to start.
  const watchdog = new Watchdog(terms.graceMs)
  try {
    const child = await start(terms, cover, !atTerminal)
    if (typeof child === 'number') return child
    terms.started()
    const family = atTerminal ? new Descendants(child.pid) : new Group(child.pid)
    watchdog.watch(family.target)
    return await attend(child, family, terms, cover.signal)
  } finally {
    watchdog.dismiss()
  }
}

type Started = ChildProcess & { readonly pid: number }

/** The command, or the exit code that says why it did not start. */
async function start(
  { command, say }: ChildTerms,
  { key, token }: Cover,
  detached: boolean,
): Promise<Started | number> {
  const [file = '', ...args] = command
  const env = { ...process.env, HOLDFAST_KEY: key, HOLDFAST_TOKEN: String(token) }
  let error: unknown
  try {
    const child = spawn(file, args, { stdio: 'inherit', detached, env })
    if (child.pid !== undefined) return child as Started
    error = (await once(child, 'error'))[0]
  } catch (thrown) {
    // Some reasons are thrown, others come as an event.
    error = thrown
  }
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
  say(`${shown(file)}: ${isMissing ? 'command not found' : `cannot be run: ${explain(error)}`}`)
  return isMissing ? NOT_FOUND : NOT_EXECUTABLE
}

async function attend(
  child: Started,
  family: Family,
  { graceMs, signals }: ChildTerms,
  lost: AbortSignal,
): Promise<number> {
  const ending = new Ending(family, graceMs)
  const ended = new Promise<number>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? codeOf(signal ?? 'SIGKILL')))
  })
  const unpass = signals.passTo((name) => pass(name, child, family))
  const unheed = onAbort(lost, () => ending.begin())
  try {
    const code = await Promise.race([ended, ending.inVain.then(() => codeOf('SIGKILL'))])
    // What it leaves behind would work on without the lock.
    if (family.isAlive) ending.begin()
    while (family.isAlive && !ending.isInVain) await pause(LOOK_EACH_MS)
    return code
  } finally {
    unheed()
    unpass()
    ending.over()
  }
}

function pass(name: PassedOn, { pid, exitCode, signalCode }: Started, family: Family): void {
  if (name === 'SIGUSR1' || name === 'SIGUSR2') {
    // For the command itself: others in its family would die of them. Once it has ended, its number is no longer its own.
    if (exitCode === null && signalCode === null) send(pid, name)
    return
  }
  // A terminal has given these to the command too.
  if (family instanceof Group || (name !== 'SIGINT' && name !== 'SIGQUIT')) family.signal(name)
}
