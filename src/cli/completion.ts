import { parse } from './arguments.ts'
import { type Command, UsageError } from './command.ts'

const GLOBAL = ['--store', '--help', '--version']

/** Words of a command, by its name. */
type Words = ReadonlyMap<string, readonly string[]>

const SHELLS: Readonly<Record<string, (commands: readonly Command[], words: Words) => string>> = {
  bash,
  zsh,
  fish,
}

export function completionCommand(commands: () => readonly Command[]): Command {
  return {
    name: 'completion',
    summary: 'print what completes commands in a shell',
    help: `usage: holdfast completion bash | zsh | fish

  bash  eval "$(holdfast completion bash)"       in ~/.bashrc
  zsh   eval "$(holdfast completion zsh)"        in ~/.zshrc, after compinit
  fish  holdfast completion fish | source        in config.fish
`,
    async run({ args, terminal }) {
      const { positionals } = parse(args, {}, ['a shell: bash, zsh or fish'])
      const [shell = ''] = positionals
      const print = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined
      if (!print) throw new UsageError(`the shell '${shell}' is unknown, give bash, zsh or fish`)
      const all = commands()
      terminal.out.write(print(all, new Map(all.map((command) => [command.name, wordsOf(command, all)]))))
      return 0
    },
  }
}

/** Its options, as its help names them at the beginning of a line, and what else can follow. */
function wordsOf({ name, help }: Command, all: readonly Command[]): string[] {
  const options = [...help.matchAll(/^ +(?:-\w, )?(--[a-z][a-z-]*)/gm)].map(([, option = '']) => option)
  const others: Record<string, readonly string[]> = {
    help: all.map((command) => command.name),
    completion: Object.keys(SHELLS),
    schema: ['postgres', 'mysql', 'fence-postgres', 'fence-mysql', 'fence-sqlite'],
  }
  return [...new Set([...(others[name] ?? []), ...options, '--store', '--help'])]
}

function bash(commands: readonly Command[], words: Words): string {
  const cases = [...words].map(([name, own]) => `    ${name}) words='${own.join(' ')}' ;;`)
  return `_holdfast() {
  local current="\${COMP_WORDS[COMP_CWORD]}" command='' word words index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    case "$word" in
    --) compopt -o default; COMPREPLY=(); return ;;
    --store) ((index++)) ;;
    -*) ;;
    *) [ -z "$command" ] && command="$word" ;;
    esac
  done
  case "$command" in
    '') words='${[...commands.map(({ name }) => name), ...GLOBAL].join(' ')}' ;;
${cases.join('\n')}
    *) words='' ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _holdfast holdfast
`
}

function zsh(commands: readonly Command[], words: Words): string {
  const names = commands.map(({ name, summary }) => `    '${name}:${summary.replaceAll("'", '’')}'`)
  const cases = [...words].map(([name, own]) => `    ${name}) compadd -- ${own.join(' ')} ;;`)
  return `#compdef holdfast
_holdfast() {
  local -a commands
  commands=(
${names.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    compadd -- ${GLOBAL.join(' ')}
    return
  fi
  if (( \${words[(I)--]} && \${words[(I)--]} < CURRENT )); then
    _files
    return
  fi
  case "\${words[2]}" in
${cases.join('\n')}
  esac
}
compdef _holdfast holdfast
`
}

function fish(commands: readonly Command[], words: Words): string {
  const names = commands.map(
    ({ name, summary }) =>
      `complete -c holdfast -f -n __fish_use_subcommand -a ${name} -d '${summary.replaceAll("'", '’')}'`,
  )
  const options = [...words].flatMap(([name, own]) =>
    own.map((word) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`
      return `complete -c holdfast -f -n '__fish_seen_subcommand_from ${name}' ${what}`
    }),
  )
  return `${[...names, ...options].join('\n')}\n`
}
