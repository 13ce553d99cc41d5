import type { StoreSettings } from '../config/settings.ts'
import type { Environ } from '../config/variables.ts'
import { benchCommand } from './bench.ts'
import { type Command, type Invocation, type Terminal, UsageError } from './command.ts'
import { completionCommand } from './completion.ts'
import { doctorCommand } from './doctor.ts'
import { electCommand } from './elect.ts'
import { exitCodeOf, EXIT, explain, hidePassword } from './failure.ts'
import { find, helpCommand, overview } from './help.ts'
import { inspectCommand } from './inspect.ts'
import { listCommand } from './list.ts'
import { releaseCommand } from './release.ts'
import { runCommand } from './run.ts'
import { schemaCommand } from './schema.ts'
import { serveCommand } from './serve.ts'
import { statsCommand } from './stats.ts'
import { version } from '../version.ts'

const COMMANDS: readonly Command[] = [
  runCommand,
  electCommand,
  listCommand,
  inspectCommand,
  releaseCommand,
  statsCommand,
  serveCommand,
  doctorCommand,
  benchCommand,
  schemaCommand,
  completionCommand(() => COMMANDS),
  helpCommand(() => COMMANDS),
]

export interface Start {
  /** Without those of Node itself. */
  readonly args: readonly string[]
  readonly env: Environ
  readonly terminal: Terminal
}

/** Resolves to the exit code. An error is one line on `err`; it never rejects. */
export async function main({ args, env, terminal }: Start): Promise<number> {
  let command: Command | undefined
  let store: string | undefined
  try {
    const given = withoutStore(args)
    const { rest } = given
    store = given.store
    hidePassword(store ?? env['HOLDFAST_STORE'])
    const [name, ...own] = rest
    if (name === undefined) throw new UsageError('give a command')
    if (name === '--version') return print(terminal, `${version()}\n`)
    if (name === '--help' || name === '-h') return print(terminal, overview(COMMANDS))
    if (name.startsWith('-')) throw new UsageError(`the option '${name}' is unknown`)
    command = find(COMMANDS, name)
    if (asksForHelp(own)) return print(terminal, command.help)
    return await command.run(
      invocationOf(own, terminal, store === undefined ? env : { ...env, HOLDFAST_STORE: store }),
    )
  } catch (error) {
    const code = exitCodeOf(error)
    const see = code === EXIT.usage ? `; see holdfast ${command ? `${command.name} ` : ''}--help` : ''
    // It went by way of that variable, and there is no program to make an object.
    const text = explain(error).replace(', or pass a store object', '')
    terminal.err.write(
      `holdfast: ${store === undefined ? text : text.replace('HOLDFAST_STORE', '--store')}${see}\n`,
    )
    return code
  }
}

function invocationOf(args: readonly string[], terminal: Terminal, env: Environ): Invocation {
  // Not loaded for help and completion, which shells wait for when they start.
  const load = (): Promise<typeof import('./settings.ts')> => import('./settings.ts')
  return {
    args,
    terminal,
    env,
    openLocks: async () => (await load()).openLocks(env),
    storeSettings: async () => (await (await load()).readSettings(env)).store as StoreSettings,
  }
}

/** Takes `--store URL` out, wherever it stands before `--`: what is behind that belongs to another program. */
function withoutStore(args: readonly string[]): { store: string | undefined; rest: readonly string[] } {
  const end = args.includes('--') ? args.indexOf('--') : args.length
  const rest: string[] = []
  let store: string | undefined
  for (let index = 0; index < end; index += 1) {
    const arg = args[index] ?? ''
    if (arg.startsWith('--store=')) store = arg.slice('--store='.length)
    else if (arg === '--store') store = args[(index += 1)] ?? ''
    else rest.push(arg)
    if (store === '' || store === '--') throw new UsageError('--store: give a URL')
  }
  return { store, rest: [...rest, ...args.slice(end)] }
}

function asksForHelp(args: readonly string[]): boolean {
  const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args
  return own.includes('--help') || own.includes('-h')
}

function print({ out }: Terminal, text: string): number {
  out.write(text)
  return 0
}
