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
