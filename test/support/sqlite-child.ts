// A process of its own with a SQLite store, driven by messages; see sqlite-process.ts.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { loadDriver } from '../../src/stores/sqlite/driver.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import type { Ask, Store } from '../../src/store.ts'

export interface Call {
  readonly id: number
  readonly name: keyof typeof actions
  readonly args: readonly unknown[]
}

const stores = new Map<string, Store>()

const actions = {
  /** One step of the contract on the store of that path. */
  async step(
    path: string,
    name: 'open' | 'acquire' | 'renew' | 'release' | 'list' | 'evict',
    ...args: never[]
  ): Promise<unknown> {
    const store = stores.get(path) ?? sqliteStore(path)
    stores.set(path, store)
    return (store[name] as (...args: never[]) => Promise<unknown>)(...args)
  },

  /** Adds one to the number in a plain file, `times` times, each time holding the key. */
  async count(path: string, counter: string, times: number): Promise<void> {
    const store = sqliteStore(path)
    await store.open()
    for (let done = 0; done < times;) {
      const ask: Ask = {
        key: 'counter',
        owner: crypto.randomUUID(),
        leaseMs: 60_000,
        holder: { service: 'test', instance: String(process.pid), context: null },
      }
      const [answer] = await store.acquire([ask])
      if (!answer || !('granted' in answer) || !answer.granted) {
        await new Promise((resolve) => setTimeout(resolve, 1))
        continue
      }
      const before = Number(readFileSync(counter, 'utf8'))
      // Others get a chance to do the same at the same time.
      await new Promise((resolve) => setImmediate(resolve))
      writeFileSync(counter, String(before + 1))
      appendFileSync(`${counter}.grants`, `${answer.grant}\n`)
      await store.release([ask])
      done += 1
    }
    await store.close()
  },

  /** Keeps the file busy with a transaction of a connection of its own. */
  async block(path: string, ms: number): Promise<void> {
    const open = await loadDriver()
    const db = open(path)
    db.exec('begin immediate')
    setTimeout(() => {
      db.exec('commit')
      db.close()
    }, ms)
  },

  async close(): Promise<void> {
    for (const store of stores.values()) await store.close()
    stores.clear()
  },
}

process.on('message', (call: Call) => {
  const { id, name, args } = call
  const action = actions[name] as (...args: readonly unknown[]) => Promise<unknown>
  action(...args).then(
    (result) => process.send?.({ id, result, at: Date.now() }),
    (error: Error & { code?: string }) =>
      process.send?.({ id, error: { message: error.message, code: error.code } }),
  )
})
process.send?.({ ready: true })
