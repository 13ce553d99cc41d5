import { describeError, LockError } from '../errors.ts'
import type { FenceSql } from './sql.ts'
import { invalid } from './verdict.ts'

type Complaint = 'absent' | 'forbidden' | { readonly misfit: string }

const POSTGRES: Readonly<Record<string, Complaint>> = {
  '42P01': 'absent',
  '3F000': 'absent',
  '42501': 'forbidden',
  '42703': { misfit: 'has other columns' },
  '42804': { misfit: 'has columns of other types' },
  '42P10': { misfit: 'has no primary key on resource' },
}

const MYSQL: Readonly<Record<number, Complaint>> = {
  1044: 'forbidden',
  // What MySQL 8 says of a table where there is no such database.
  1049: 'absent',
  1054: { misfit: 'has other columns' },
  1142: 'forbidden',
  1143: 'forbidden',
  1146: 'absent',
  1364: { misfit: 'has other columns' },
}

const SQLITE: readonly (readonly [RegExp, Complaint])[] = [
  [/no such table: /, 'absent'],
  [/no such column: |has no column named /, { misfit: 'has other columns' }],
  [/ON CONFLICT clause does not match /, { misfit: 'has no primary key on resource' }],
]

/**
 * An error that says what is wrong with the table, if that is what the server complains of; null for every
 * other error. `creating`: the table is missing, and the statement was to create it.
 */
export function tableProblem(error: unknown, sql: FenceSql, creating = false): LockError | null {
  const found = complaintIn(error)
  if (!found) return null
  const { complaint, said } = found
  const { table, ddl, grants } = sql
  if (complaint === 'absent')
    return unavailable(`the table ${table} is missing (${said}); this makes it:\n${ddl}`, error)
  if (complaint !== 'forbidden') {
    return invalid(
      `the table ${table} ${complaint.misfit} (${said}); this makes the right one:\n${ddl}`,
      error,
    )
  }
  const what = creating
    ? `the table ${table} is missing, and this user may not create it (${said}); let someone who may run this:\n${ddl}\n`
    : `this user may not use the table ${table} (${said}); `
  return unavailable(`${what}${creating ? 'and ' : ''}grant the user ${grants}`, error)
}

/** Not a mistake in the program: whoever runs the database can mend it, and the next call finds out. */
export function unavailable(message: string, cause?: unknown): LockError {
  return new LockError('STORE_UNAVAILABLE', `fence: ${message}`, { cause })
}

/** Whether the database does not know the table. The statements of a guard have no other. */
export function isMissing(error: unknown): boolean {
  return complaintIn(error)?.complaint === 'absent'
}

/** ORMs wrap the server's error, so the causes are looked through. */
function complaintIn(error: unknown): { readonly complaint: Complaint; readonly said: string } | null {
  if (error instanceof LockError) return null
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    const { code, errno, message } = at as Error & { code?: unknown; errno?: unknown }
    const complaint =
      POSTGRES[String(code)] ?? MYSQL[Number(errno)] ?? SQLITE.find(([pattern]) => pattern.test(message))?.[1]
    if (complaint) return { complaint, said: describeError(at) }
  }
  return null
}
