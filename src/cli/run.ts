import { LockError } from '../errors.ts'
import { nameOf } from '../monitor/journal.ts'
import { MIN_LEASE_MS } from '../option-check.ts'
import type { UsingOptions } from '../options.ts'
import { wholeNumber } from './arguments.ts'
import { runChild } from './child.ts'
import { type Command, type Invocation, UsageError } from './command.ts'
import { duration, givenDuration, parseWithCommand } from './command-line.ts'
import { EXIT, explain, explainLoss } from './failure.ts'
import { checkShared, withSession } from './session.ts'

export const runCommand: Command = {
  name: 'run',
  summary: 'run a command while holding a key',
  help: `usage: holdfast run [options] KEY -- command [argument …]

Waits for the key, for ever unless told otherwise, runs the command while it holds it, and gives
it back. Like flock, but over many machines:

  holdfast run -n nightly-report -- ./report.sh      not at all if another runs it now
  holdfast run -w 30s deploy -- make deploy          waits for half a minute at most

At a terminal it says what it waits for, and that the command was not run; elsewhere it is silent.

  -n, --nonblock        one try
  -w, --wait 30s        wait at most that long; 0 is one try
  -E, --conflict-exit-code N
                        exit with this if the key was not to be had, instead of 1
  -l, --lease 30s       how long the key stays taken if this machine dies
      --grace 5s        between SIGTERM and SIGKILL, if the lock is lost; 0 is SIGKILL at once
      --context TEXT    why, for those who look who holds the key

A time is 250ms, 30s, 5m or 1h; a number alone is seconds. The command finds the key in
HOLDFAST_KEY and its fencing token in HOLDFAST_TOKEN. Signals are passed on to it.

Exits as the command does, with 128 + n if signal n ended it; 127 if there is no such command, 126
if it cannot be run, 1 (or -E) if the key was not to be had, 69 if the store could not be reached,
79 if the lock was lost: then the command was ended, and may not have been alone, or was not started
at all; a line says which.
`,
  async run(invocation) {
    const { key, conflictCode, options, ...terms } = read(invocation.args)
    await checkShared(invocation)
    // To a person. Elsewhere it is silent, as flock is: what says something each time gets a mail from cron each time.
    const { isTTY } = invocation.terminal
    return withSession(invocation, async ({ locks, signals, say }) => {
      let hasStarted = false
      const started = (): void => void (hasStarted = true)
      if (isTTY && options.wait !== 0)
        locks.on('conflict', ({ holder }) => say(`waiting for "${key}", held by ${nameOf(holder)}`))
      try {
        return await locks.using(key, { ...options, signal: signals.asked }, (lease) =>
          runChild({ ...terms, signals, say, started }, lease),
        )
      } catch (error) {
        if (!(error instanceof LockError)) throw error
        if (error.code === 'LOCK_ABORTED') return signals.code
        if (error.code === 'LOCK_ACQUIRE_TIMEOUT') {
          if (isTTY) say(`not run: ${explain(error)}`)
          return conflictCode
        }
        if (error.code !== 'LOCK_LOST') throw error
        say(explainLoss(error, hasStarted))
        return EXIT.lost
      }
    })
  },
}

interface Terms {
  readonly key: string
  readonly command: readonly string[]
  readonly graceMs: number
  readonly conflictCode: number
  readonly options: UsingOptions
}

function read(args: Invocation['args']): Terms {
  const { values, name, command } = parseWithCommand(
    args,
    {
      nonblock: { type: 'boolean', short: 'n', default: false },
      wait: { type: 'string', short: 'w' },
      lease: { type: 'string', short: 'l' },
      'conflict-exit-code': { type: 'string', short: 'E', default: String(EXIT.no) },
      grace: { type: 'string', default: '5s' },
      context: { type: 'string' },
    },
    'KEY',
  )
  if (values.nonblock && values.wait !== undefined) throw new UsageError('give either -n or -w')
  const wait = givenDuration(values.wait, { name: '--wait', min: 0 })
  return {
    key: name,
    command,
    graceMs: duration(values.grace, { name: '--grace', min: 0 }),
    conflictCode: wholeNumber('-E', values['conflict-exit-code'], { min: 0, max: 255 }),
    options: {
      wait: values.nonblock ? 0 : (wait ?? Infinity),
      lease: givenDuration(values.lease, { name: '--lease', min: MIN_LEASE_MS }),
      context: values.context,
    },
  }
}
