import { setTimeout } from 'node:timers/promises'

/** How a contender takes a key, waiting for it if it must, and how the key is given back. */
export interface Opened {
  readonly lock: (key: string) => Promise<() => Promise<unknown>>
  readonly close: () => Promise<unknown>
}

/** The process ends with it: some peers leave connections and timers behind. */
export async function closeAndExit(opened: Opened): Promise<void> {
  await opened.close()
  setImmediate(() => process.exit())
}

/** That it keeps others out, and lets them in afterwards. */
export async function prove({ lock }: Opened): Promise<void> {
  const unlock = await lock('proof')
  let inside = false
  const next = lock('proof').then((unlockNext) => {
    inside = true
    return unlockNext()
  })
  await setTimeout(30)
  if (inside) throw new Error('two were inside')
  await unlock()
  await next
}

/** Peers create their table on first use, and fail if another process does so at the same time. */
export async function useOnce(opened: Opened): Promise<void> {
  const unlock = await opened.lock('first')
  await unlock()
  await opened.close()
}
