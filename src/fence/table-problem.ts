import { LockError } from '../errors.ts'
import type { FenceSql } from './sql.ts'
import { invalid } from './verdict.ts'

const POSTGRES: Readonly<Record<string, string>> = {
  '42P01': 'is missing',
  '3F000': 'is in a schema that is missing',
  '42703': 'has other columns',
  '42804': 'has columns of other types',
  '42P10': 'has no primary key on resource',
  '42501': 'is out of bounds for this user',
}

const SQLITE: readonly (readonly [RegExp, string])[] = [
  [/no such table: /, 'is missing'],
  [/no such column: |has no column named /, 'has other columns'],
  [/ON CONFLICT clause does not match /, 'has no primary key on resource'],
]

/**
 * An error that says what is wrong with the table, if that is what the server complains of; null for every
 * other error. ORMs wrap the server's error, so the causes are looked through.
 */
export function tableProblem(error: unknown, sql: FenceSql): LockError | null {
  const problem = complaintIn(error)
  return problem
    ? invalid(`the table ${sql.table} ${problem}; this statement makes it:\n${sql.ddl}`, error)
    : null
}

/** Whether SQLite does not know the table. Its statements have no other table. */
export function isMissing(error: unknown): boolean {
  return complaintIn(error) === 'is missing'
}

function complaintIn(error: unknown): string | undefined {
  if (error instanceof LockError) return undefined
  let complaint: string | undefined
  for (let at = error, depth = 0; at instanceof Error && depth < 5 && !complaint; at = at.cause, depth += 1) {
    const { code, message } = at as Error & { code?: unknown }
    complaint = POSTGRES[String(code)] ?? SQLITE.find(([pattern]) => pattern.test(message))?.[1]
  }
  return complaint
}
