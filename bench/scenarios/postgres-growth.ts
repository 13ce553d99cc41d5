import type { Client } from 'pg'
import { DEFAULT_NAMES } from '../../src/stores/postgres/schema.ts'
import { statementsFor } from '../../src/stores/postgres/statements.ts'
import { holdfast } from '../built.ts'
import { onServer, withDatabase } from '../postgres/database.ts'
import { type Samples, throughput } from '../throughput.ts'

const LOCKS = 1_000_000
const TASKS = 500
const KEYS = 10_000
/** As the store does it. */
const SWEEP_CHUNK = 5000

const TABLE = DEFAULT_NAMES.table

export function knownKeys(): Promise<Samples> {
  return withDatabase(async (url) => ({
    ...(await lockEach(url, (i) => `order:${i % KEYS}`)),
    ...(await onServer(url, size)),
  }))
}

/** The records stay for an hour; here they are swept at once, with the statement that the store uses. */
export function newKeys(): Promise<Samples> {
  return withDatabase(async (url) => {
    const samples = await lockEach(url, (i) => `order:${i}`)
    return onServer(url, async (client) => {
      const kept = await size(client)
      const swept = await sweep(client)
      await client.query(`vacuum ${TABLE}`)
      const { tableMiB, indexMiB } = await size(client)
      return { ...samples, ...kept, ...swept, sweptMiB: [(tableMiB[0] ?? 0) + (indexMiB[0] ?? 0)] }
    })
  })
}

async function lockEach(url: string, keyOf: (i: number) => string): Promise<Samples> {
  const locks = holdfast.createLocks(url)
  const { perSecond = [] } = await throughput(TASKS, LOCKS * 0.8, async (i) => {
    const lease = await locks.acquire(keyOf(i))
    await lease.release()
  })
  await locks.close()
  return { perSecond }
}

interface Size {
  readonly [name: string]: readonly number[]
  readonly tableMiB: readonly number[]
  readonly indexMiB: readonly number[]
}

async function size(client: Client): Promise<Size> {
  // What a connection did is counted a moment after it ended.
  await client.query(`select pg_sleep(1.5)`)
  const { rows } = await client.query<Record<string, string>>(
    `select pg_table_size(relid) / 1048576.0 as table, pg_indexes_size(relid) / 1048576.0 as index,
  100.0 * n_tup_hot_upd / nullif(n_tup_upd, 0) as hot, n_dead_tup as dead, autovacuum_count as vacuums
from pg_stat_user_tables where relname = '${TABLE}'`,
  )
  const number = (name: string): number[] => [Number(rows[0]?.[name])]
  return {
    tableMiB: number('table'),
    indexMiB: number('index'),
    hotPercent: number('hot'),
    deadRows: number('dead'),
    vacuums: number('vacuums'),
  }
}

async function sweep(client: Client): Promise<Samples> {
  const { text } = statementsFor(DEFAULT_NAMES).sweep
  let after: string | undefined = ''
  let longest = 0
  const start = performance.now()
  while (after !== undefined) {
    const begun = performance.now()
    const { rows }: { rows: { max: string }[] } = await client.query(text, [after, String(SWEEP_CHUNK), '0'])
    longest = Math.max(longest, performance.now() - begun)
    after = rows[0]?.max
  }
  return { sweepMs: [performance.now() - start], longestSweepMs: [longest] }
}
