import { parse, tryParse } from './arguments.ts'
import { type Command, UsageError } from './command.ts'
import { shown } from './text.ts'

export function overview(commands: readonly Command[]): string {
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(12)}${summary}`)
  return `usage: holdfast [--store URL] COMMAND …

${lines.join('\n')}

  --store URL   the store: redis://…, postgres://…, mysql://…, mongodb://…, sqlite:./locks.db
  --version     print the version
  -h, --help    print this; holdfast help COMMAND says more of one

Without --store, HOLDFAST_STORE names the store, or holdfast.config.json (.yaml) in this folder.
A URL with a password belongs there: others on this machine can see the arguments of a program.
`
}

export function find(commands: readonly Command[], name: string): Command {
  const found = commands.find((command) => command.name === name)
  if (!found) throw new UsageError(`the command '${shown(name)}' is unknown`)
  return found
}

export function helpCommand(commands: () => readonly Command[]): Command {
  return {
    name: 'help',
    summary: 'say more of a command',
    help: 'usage: holdfast help [COMMAND]\n',
    async run({ args, terminal }) {
      const [name] = tryParse(args, {}).positionals
      if (name === undefined) terminal.out.write(overview(commands()))
      else terminal.out.write(find(commands(), parse(args, {}, ['a COMMAND']).positionals[0] ?? '').help)
      return 0
    },
  }
}
