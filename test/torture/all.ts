import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { STORES } from './arenas/index.ts'
import type { RunOptions } from './run.ts'
import type { Result } from './table.ts'

const PROGRAM = fileURLToPath(new URL('./index.ts', import.meta.url))

/** Every store at the same time, each in a process of its own. */
export async function runAll(options: RunOptions): Promise<Result[]> {
  const runs = await Promise.allSettled(STORES.map((store) => runOne(store, options)))
  return runs.flatMap((run) => {
    if (run.status === 'fulfilled') return [run.value]
    console.error(String(run.reason))
    process.exitCode = 1
    return []
  })
}

async function runOne(store: string, options: RunOptions): Promise<Result> {
  const given = Object.entries({ store, ...options }).filter(([, value]) => value !== undefined)
  const child = fork(
    PROGRAM,
    given.flatMap(([name, value]) => [`--${name}`, String(value)]),
  )
  let result: Result | undefined
  child.on('message', (results: Result[]) => ([result] = results))
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  if (!result) throw new Error(`the torture of ${store} itself failed (${code ?? signal})`)
  return result
}
