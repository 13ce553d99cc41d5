import { onAbort } from '../abort.ts'
import type { ElectOptions } from '../election.ts'
import type { Locks } from '../locks.ts'
import { MIN_LEASE_MS } from '../option-check.ts'
import { type ChildTerms, runChild } from './child.ts'
import type { Command, Invocation } from './command.ts'
import { duration, givenDuration, parseWithCommand } from './command-line.ts'
import { EXIT, explainLoss } from './failure.ts'
import { checkShared, withSession } from './session.ts'

export const electCommand: Command = {
  name: 'elect',
  summary: 'run a command on one of many machines, and on another if that one fails',
  help: `usage: holdfast elect [options] NAME -- command [argument …]

Start it on each machine: all stand for the leadership of NAME, and the one that leads runs the
command. If that machine dies, or loses touch with the store, another follows.

  holdfast elect scheduler -- node scheduler.js

  -l, --lease 30s       how long the others wait for a leader they hear nothing from
      --again           when the command ends by itself: stand again after a pause, instead of ending
      --pause 1s        that pause; longer, up to 30s, if the command fails again and again
      --grace 5s        between SIGTERM and SIGKILL, if the term is lost; 0 is SIGKILL at once
      --context TEXT    why, for those who look who leads

A time is 250ms, 30s, 5m or 1h; a number alone is seconds. The command finds NAME in HOLDFAST_KEY
and its fencing token, which rises with every term, in HOLDFAST_TOKEN. A term that is lost ends
the command, and holdfast stands again. Signals are passed on to the command; after SIGTERM or
SIGINT it does not stand again.

Exits as the command does, with 128 + n if signal n ended it, or came while another led; 127 if
there is no such command, 126 if it cannot be run.
`,
  async run(invocation) {
    const plan = read(invocation.args)
    await checkShared(invocation)
    return withSession(invocation, (session) => lead(session.locks, plan, { ...plan, ...session }))
  },
}

interface Plan {
  readonly name: string
  readonly command: readonly string[]
  readonly graceMs: number
  readonly again: boolean
  readonly options: ElectOptions
}

/** Resolves to the exit code when nobody here leads any more. */
async function lead(
  locks: Locks,
  { name, again, options }: Plan,
  terms: Omit<ChildTerms, 'started'>,
): Promise<number> {
  const { signals, say } = terms
  if (signals.asked.aborted) return signals.code
  let leads = false
  let end: (code: number) => void = () => {}
  const ended = new Promise<number>((resolve) => (end = resolve))
  const election = locks.elect(name, options, async (term) => {
    leads = true
    let hasStarted = false
    const started = (): void => void (hasStarted = true)
    const code = await runChild({ ...terms, started }, { key: name, token: term.token, signal: term.signal })
    leads = false
    const { aborted: isLost, reason } = term.signal
    if (isLost) say(explainLoss(reason, hasStarted))
    if (signals.asked.aborted || !(again || isLost)) return end(isLost ? EXIT.lost : code)
    if (isLost || code === 0) return
    say(`the command ended with ${code}`)
    // So that it backs off.
    throw new Error('the command failed')
  })
  // A command that runs is told, and decides when it ends.
  const unheed = onAbort(signals.asked, () => leads || end(signals.code))
  const code = await ended
  unheed()
  await election.stop()
  return code
}

function read(args: Invocation['args']): Plan {
  const { values, name, command } = parseWithCommand(
    args,
    {
      lease: { type: 'string', short: 'l' },
      again: { type: 'boolean', default: false },
      pause: { type: 'string' },
      grace: { type: 'string', default: '5s' },
      context: { type: 'string' },
    },
    'NAME',
  )
  return {
    name,
    command,
    graceMs: duration(values.grace, { name: '--grace', min: 0 }),
    again: values.again,
    options: {
      lease: givenDuration(values.lease, { name: '--lease', min: MIN_LEASE_MS }),
      pause: givenDuration(values.pause, { name: '--pause', min: 10 }),
      context: values.context,
    },
  }
}
