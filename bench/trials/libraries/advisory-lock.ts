import { createRequire } from 'node:module'
import { type Access, type Library, refused } from '../library.ts'

interface Mutex {
  lock(): Promise<() => Promise<void>>
  tryLock(): Promise<(() => Promise<void>) | undefined>
  withLock<T>(body: () => Promise<T>): Promise<T>
}

const require = createRequire(import.meta.url)

/** No lease: a lock lasts as long as its connection, and each has one of its own. */
export async function advisoryLock({ url }: Access): Promise<Library> {
  const { default: open } = require('advisory-lock') as { default: (url: string) => (key: string) => Mutex }
  const mutexOf = open(url)
  return {
    section: (key, _terms, body) => mutexOf(key).withLock(() => body({})),
    take: async (key, { waitMs }) => {
      const release = await (waitMs === 0 ? mutexOf(key).tryLock() : mutexOf(key).lock())
      if (!release) throw refused(key)
      return { release }
    },
    close: async () => undefined,
  }
}
