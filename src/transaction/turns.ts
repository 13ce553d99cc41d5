import type { Environment } from '../environment.ts'
import { within } from './limit.ts'

const last = new WeakMap<object, Promise<unknown>>()

/**
 * A connection has one transaction at a time: those of this process take turns on it, first come, first
 * served. Resolves to what ends the turn.
 */
export async function takeTurn(connection: object, env: Environment, limitMs: number): Promise<() => void> {
  const before = last.get(connection) ?? Promise.resolve()
  let end!: () => void
  const turn = new Promise<void>((resolve) => (end = resolve))
  last.set(
    connection,
    before.then(() => turn),
  )
  try {
    const what = 'the connection is in use by another transaction of this process, which did not end'
    await within(env, { ms: limitMs, what }, before)
  } catch (error) {
    // Those behind go on to wait for those before.
    end()
    throw error
  }
  return end
}
