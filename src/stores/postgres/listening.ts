import type { Listening } from './database.ts'
import { within } from './limit.ts'

/** Null if `starting` found a pooler in the way. A connection that does not listen is closed. */
export async function listeningOnce(
  starting: Promise<boolean>,
  close: () => Promise<void>,
): Promise<Listening | null> {
  try {
    if (await within(starting, () => 'the listening connection was not opened in time')) return { close }
  } catch (error) {
    void close()
    throw error
  }
  await close()
  return null
}
