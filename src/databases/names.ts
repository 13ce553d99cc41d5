import { show } from '../errors.ts'

/** Letters, digits and underscores: what can be put in quotes without a second look. */
export function isName(name: unknown): name is string {
  return typeof name === 'string' && /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name)
}

/** What to say of another one. */
export function notAName(name: unknown): string {
  return (
    `${shownName(name)} is not taken as a name; use letters, digits and underscores, at most 63, ` +
    'and do not start with a digit'
  )
}

/** With all that cannot be seen. */
export function shownName(name: unknown): string {
  return typeof name === 'string' ? JSON.stringify(name) : show(name)
}
