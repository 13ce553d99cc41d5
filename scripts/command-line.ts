import { parseArgs, type ParseArgsConfig } from 'node:util'

type Parsed<T extends ParseArgsConfig> = ReturnType<typeof parseArgs<T>>

/** What a developer's command was given. The process ends here if that is `--help`, or something that it does not know. */
export function commandLine<const T extends ParseArgsConfig>(usage: string, config: T): Parsed<T> {
  const options = { ...config.options, help: { type: 'boolean' as const } }
  const parsed = tryParse(usage, { ...config, options })
  if (parsed.values['help'] !== true) return parsed as Parsed<T>
  console.log(usage)
  process.exit(0)
}

/** Ends the process: a line that says what is wrong, then what can be asked for. */
export function refuse(usage: string, message: string): never {
  console.error(`${message}\n\n${usage}`)
  process.exit(2)
}

/** A whole number above 0. */
export function count(usage: string, name: string, text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value > 0) return value
  return refuse(usage, `${name}: give a whole number above 0, not '${text}'`)
}

function tryParse(usage: string, config: ParseArgsConfig): ReturnType<typeof parseArgs> {
  try {
    return parseArgs(config)
  } catch (error) {
    if (!String((error as { code?: unknown }).code).startsWith('ERR_PARSE_ARGS_')) throw error
    // What follows its first sentence is about how to write a path.
    return refuse(usage, (error as Error).message.split('. ')[0] ?? '')
  }
}
