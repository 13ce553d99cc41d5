import { LockError } from '../errors.ts'

/** What a driver's package exports; undefined if it is not installed. One that is there but fails to load throws. */
export async function ifInstalled<T>(load: () => Promise<T>): Promise<T | undefined> {
  try {
    return await load()
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** `otherwise` says what to install. */
export async function installed<T>(load: () => Promise<T>, otherwise: string): Promise<T> {
  try {
    return await load()
  } catch (error) {
    throw isMissing(error) ? new LockError('INVALID_OPTION', otherwise, { cause: error }) : error
  }
}

function isMissing(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'ERR_MODULE_NOT_FOUND'
}
