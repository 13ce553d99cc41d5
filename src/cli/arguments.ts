import { parseArgs, type ParseArgsConfig } from 'node:util'
import { UsageError } from './command.ts'

type Options = NonNullable<ParseArgsConfig['options']>
type Parsed<O extends Options> = ReturnType<
  typeof parseArgs<{ args: string[]; options: O; allowPositionals: true; strict: true }>
>

/** Options and what else there is, or a UsageError. `names` says what the others are: all of them have to be there. */
export function parse<const O extends Options>(
  args: readonly string[],
  options: O,
  names: readonly string[] = [],
): Parsed<O> {
  const parsed = tryParse(args, options)
  const missing = names[parsed.positionals.length]
  if (missing !== undefined) throw new UsageError(`give ${missing}`)
  if (parsed.positionals.length > names.length)
    throw new UsageError(`one argument too many: '${parsed.positionals[names.length] ?? ''}'`)
  return parsed
}

export function tryParse<const O extends Options>(args: readonly string[], options: O): Parsed<O> {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true })
  } catch (error) {
    throw isParseError(error) ? new UsageError(firstSentence(error)) : error
  }
}

/** One that `parseArgs` has thrown. */
export function isParseError(error: unknown): error is Error {
  return String((error as { code?: unknown } | null)?.code).startsWith('ERR_PARSE_ARGS_')
}

/** A whole number, as people write it. */
export function wholeNumber(name: string, text: string, { min, max }: { min: number; max: number }): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw new UsageError(`${name}: give a whole number from ${min} to ${max}`)
}

/** The rest is advice that does not fit here. */
function firstSentence(error: Error): string {
  const [first = ''] = error.message.split(/\.(?:\s|$)/)
  return first.charAt(0).toLowerCase() + first.slice(1)
}
