import type { ParseArgsConfig } from 'node:util'
import { checkDuration, type DurationLimits } from '../duration.ts'
import { parse } from './arguments.ts'
import { UsageError } from './command.ts'

type Parsed<O extends NonNullable<ParseArgsConfig['options']>> = ReturnType<typeof parse<O>>['values']

/** `[options] NAME -- command …`. What stands behind the dashes is not looked at. */
export function parseWithCommand<const O extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: O,
  name: string,
): { values: Parsed<O>; name: string; command: readonly string[] } {
  const dashes = args.indexOf('--')
  const command = dashes === -1 ? [] : args.slice(dashes + 1)
  const before = dashes === -1 ? args : args.slice(0, dashes)
  if (dashes === -1) throw new UsageError(`give the command to run, behind --: ${name} -- command …`)
  if (!command[0]) throw new UsageError('give the command to run: there is none behind --')
  const { values, positionals } = parse(before, options, [`a ${name}`])
  return { values, name: positionals[0] ?? '', command }
}

/** Milliseconds. A number without a unit is seconds, as flock has it. */
export function duration(text: string, limits: DurationLimits): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? `${text}s` : text
  try {
    return checkDuration(value, { ...limits, bare: 'seconds' })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** As `duration`; undefined if it was not given. */
export function givenDuration(text: string | undefined, limits: DurationLimits): number | undefined {
  return text === undefined ? undefined : duration(text, limits)
}
