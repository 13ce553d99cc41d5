import { isName, notAName } from '../../databases/names.ts'
import { LockError } from '../../errors.ts'

/** Someone else may be first to create the table, and someone may drop it again. */
export const MAX_CREATIONS = 3

/** `of`: the option that gives it. */
export function checkName(name: unknown, of: string): string {
  if (isName(name)) return name
  throw new LockError('INVALID_OPTION', `${of}: ${notAName(name)}`)
}

/** What is wrong with columns, each with its type, that should be as in `wanted`. */
export function wrongColumns(
  wanted: Readonly<Record<string, string>>,
  found: readonly (readonly unknown[])[],
): string[] {
  const types = new Map(found.map(([column, type]) => [column, type]))
  const wrong = Object.entries(wanted).filter(([column, type]) => types.get(column) !== type)
  return wrong.map(([column, type]) => `column ${column} should be ${type}`)
}
