import { describe, expect, it } from 'vitest'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { PostgresProcess } from '../support/postgres-process.ts'
import { atLast, observe } from '../support/postgres-stage.ts'

const COUNT = 20

// Starting them takes longer than all the tests.
const all = await Promise.all(Array.from({ length: COUNT }, () => PostgresProcess.start()))
atLast(() => Promise.all(all.map((one) => one.end())))

/** Core tries again and again, so that a call that fails is hardly seen. */
async function failures(): Promise<number> {
  const all = await onAll((one) => one.call<{ storeFailures: number }>('stats'))
  return all.reduce((sum, { storeFailures }) => sum + storeFailures, 0)
}

async function onAll<T>(work: (one: PostgresProcess, index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(all.map(work))
}

describe('20 processes on one PostgreSQL', () => {
  it('open an empty database at once: all of them work, on one table', async () => {
    const url = await freshDatabase()
    const query = observe(url)
    for (const schema of ['public', 'not_there_yet']) {
      await onAll((one) => one.call('start', url, { schema }))
      await onAll((one, i) => one.call('acquire', `key-${i}`))
      const tables = await query('select 1 from pg_tables where schemaname = $1', schema)
      expect(tables).toHaveLength(1)
      expect(await query(`select 1 from ${schema}.holdfast_locks`)).toHaveLength(COUNT)
      expect(await failures()).toBe(0)
      await onAll((one) => one.call('close'))
    }
  })

  it('find the table dropped at once: all of them go on, and tokens rise', async () => {
    const url = await freshDatabase()
    const query = observe(url)
    await onAll((one) => one.call('start', url, { schema: 'apart' }))
    let highest = 0n
    for (let round = 0; round < 4; round += 1) {
      const got = await onAll((one, i) => one.call<{ token: string }>('acquire', `key-${i}`))
      const tokens = got.map(({ token }) => BigInt(token)).sort((a, b) => (a < b ? -1 : 1))
      expect(tokens[0]).toBeGreaterThan(highest)
      highest = tokens.at(-1) ?? 0n
      expect(await failures()).toBe(0)
      await onAll((one, i) => one.call('release', `key-${i}`))
      await query(round % 2 === 0 ? 'drop table apart.holdfast_locks' : 'drop schema apart cascade')
    }
    await onAll((one) => one.call('close'))
  })

  it('G1 G3 add one to a number 10,000 times, in two statements each, and none is lost', async () => {
    const url = await freshDatabase()
    const query = observe(url)
    await query('create table counter as select 0 as n')
    await onAll((one) => one.call('start', url))
    const tokens = (await onAll((one) => one.call<string[]>('increment', url, 10, 50))).flat().map(BigInt)
    expect(await query('select n from counter')).toEqual([{ n: 10_000 }])
    expect(new Set(tokens).size).toBe(10_000)
    await onAll((one) => one.call('close'))
  })
})
