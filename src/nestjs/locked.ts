import { Inject } from '@nestjs/common'
import { type AsyncMethod, locked, type LockedOptions } from '../decorators.ts'
import { LockError } from '../errors.ts'
import { Locks } from '../locks.ts'

/** Where Nest puts the client into each instance that it makes of a class with locked methods. */
const CLIENT = Symbol('holdfast.locks')

type LegacyDecorator<This, Method> = (
  target: This,
  name: string | symbol,
  descriptor: { value?: Method | undefined },
) => void

/** `locked` of `holdfast/decorators` with the client of the application that the instance belongs to. */
export function Locked<This extends object, Method extends AsyncMethod>(
  options: LockedOptions<This, Method>,
): LegacyDecorator<This, Method> {
  const decorate = locked<This, Method>(clientOf, options) as (...decorated: readonly unknown[]) => unknown
  return (...decorated: readonly unknown[]): unknown => {
    const [target, name, descriptor] = decorated as [object, string | symbol, PropertyDescriptor | undefined]
    // In the standard mode there is a context in second place.
    if (typeof name === 'object') throw invalid('Nest wants "experimentalDecorators": true in tsconfig.json')
    if (typeof target === 'function' && name !== undefined)
      throw invalid(`"${String(name)}" is static; take locked(locks, …) of holdfast/decorators for it`)
    const method: unknown = descriptor?.value
    const replaced = decorate(...decorated) as PropertyDescriptor
    Inject(Locks)(target, CLIENT)
    copyMetadata(method as object, replaced.value as object)
    return replaced
  }
}

function clientOf(self: object): Locks {
  const client = (self as { [CLIENT]?: Locks } | undefined)?.[CLIENT]
  if (client) return client
  throw invalid(
    'Nest has not made this object, so it has no client. Let Nest make it (not with new, nor in a useFactory), ' +
      'or take locked((self) => self.locks, …) of holdfast/decorators',
  )
}

interface Metadata {
  getMetadataKeys(target: object): readonly unknown[]
  getMetadata(key: unknown, target: object): unknown
  defineMetadata(key: unknown, value: unknown, target: object): void
}

/** Nest keeps routes, guards and much more on the function. Without this, those written below would be gone. */
function copyMetadata(from: object, to: object): void {
  const metadata = Reflect as unknown as Metadata
  for (const key of metadata.getMetadataKeys(from)) {
    metadata.defineMetadata(key, metadata.getMetadata(key, from), to)
  }
}

function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', `@Locked: ${message}`)
}
