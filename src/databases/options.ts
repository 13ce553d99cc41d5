import { LockError } from '../errors.ts'

/** Of a store: an unknown name is most often a typing error that would otherwise be ignored in silence. */
export function checkStoreOptions(store: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null)
    throw new LockError('INVALID_OPTION', `${store}: options must be an object`)
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    throw new LockError('INVALID_OPTION', `${store}: unknown option '${name}'; known are ${known.join(', ')}`)
  }
}
