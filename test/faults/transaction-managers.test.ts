import { sql } from 'drizzle-orm'
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import knex, { type Knex } from 'knex'
import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from 'kysely'
import pg from 'pg'
import { beforeEach, describe, expect, it } from 'vitest'
import { fence, type FenceQuery } from '../../src/fence/index.ts'
import type { Lease } from '../../src/lease.ts'
import type { Locks } from '../../src/locks.ts'
import type { TransactionGuard, TransactionOptions } from '../../src/options.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { atEnd, heldKeys, memoryLocks, observe } from '../support/transaction-stage.ts'

const url = await freshDatabase()
const observer = await observe(url)
const { rows } = observer

beforeEach(async () => {
  await observer.run('truncate t')
  await observer.run('drop table if exists holdfast_fence')
})

/** A transaction by an ORM's own means. `insert` is what the function is given, by the ORM's own means too. */
interface Orm {
  readonly name: string
  open(): {
    transaction<T>(
      locks: Locks,
      body: (insert: (n: number) => Promise<unknown>, lease: Lease) => Promise<T>,
      options?: TransactionOptions,
    ): Promise<T>
    guard: TransactionGuard
  }
}

const orms: readonly Orm[] = [
  {
    name: 'Kysely',
    open() {
      type Tables = { t: { n: number } }
      const db = new Kysely<Tables>({
        dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }),
      })
      atEnd(() => db.destroy())
      const inKysely = (work: (tx: Transaction<Tables>) => Promise<unknown>): Promise<unknown> =>
        db.transaction().execute(work)
      const on =
        (tx: Kysely<Tables>): FenceQuery =>
        (text, values) =>
          tx.executeQuery(CompiledQuery.raw(text, values))
      const guard = fence(on(db), { dialect: 'postgres' })
      return {
        transaction: (locks, body, options) =>
          locks.transaction(
            'key',
            inKysely,
            (tx, lease) => body((n) => tx.insertInto('t').values({ n }).execute(), lease),
            options,
          ),
        guard: {
          open: () => guard.open(),
          check: (tx: Transaction<Tables>, resource, token) => guard.check(on(tx), resource, token),
        },
      }
    },
  },
  {
    name: 'Knex',
    open() {
      const db = knex({ client: 'pg', connection: url })
      atEnd(() => db.destroy())
      const inKnex = (work: (tx: Knex.Transaction) => Promise<unknown>): Promise<unknown> =>
        db.transaction(work)
      const on =
        (tx: Knex): FenceQuery =>
        async (text, values) =>
          tx.raw<{ rows: unknown[] }>(text.replace(/\$\d/g, '?'), values)
      const guard = fence(on(db), { dialect: 'postgres' })
      return {
        transaction: (locks, body, options) =>
          locks.transaction(
            'key',
            inKnex,
            (tx, lease) => body(async (n) => tx('t').insert({ n }), lease),
            options,
          ),
        guard: {
          open: () => guard.open(),
          check: (tx: Knex.Transaction, resource, token) => guard.check(on(tx), resource, token),
        },
      }
    },
  },
  {
    name: 'Drizzle',
    open() {
      const pool = new pg.Pool({ connectionString: url })
      atEnd(() => pool.end())
      const db = drizzle(pool)
      type Tx = Parameters<Parameters<NodePgDatabase['transaction']>[0]>[0]
      const inDrizzle = (work: (tx: Tx) => Promise<unknown>): Promise<unknown> => db.transaction(work)
      const on =
        (tx: Pick<Tx, 'execute'>): FenceQuery =>
        (text, values) => {
          const [first = '', ...rest] = text.split(/\$\d/)
          const parts = rest.map((part, i) => sql`${values[i]}${sql.raw(part)}`)
          return tx.execute(sql.join([sql.raw(first), ...parts]))
        }
      const guard = fence(on(db), { dialect: 'postgres' })
      return {
        transaction: (locks, body, options) =>
          locks.transaction(
            'key',
            inDrizzle,
            (tx, lease) => body((n) => tx.execute(sql`insert into t values (${n})`), lease),
            options,
          ),
        guard: {
          open: () => guard.open(),
          check: (tx: Tx, resource, token) => guard.check(on(tx), resource, token),
        },
      }
    },
  },
]

describe.each(orms)('the transactions of $name', ({ open }) => {
  it('are stored when the function has ended, and rolled back when it fails', async () => {
    const locks = memoryLocks()
    const { transaction } = open()
    const result = await transaction(locks, async (insert) => {
      await insert(1)
      expect(await rows()).toEqual([])
      expect(await heldKeys(locks)).toEqual(['key'])
      return 'done'
    })
    expect(result).toBe('done')
    const own = new Error('own')
    const call = transaction(locks, async (insert) => {
      await insert(2)
      throw own
    })
    await expect(call).rejects.toBe(own)
    expect(await rows()).toEqual([1])
    expect(await heldKeys(locks)).toEqual([])
  })

  it('are rolled back if the lease is lost before the commit: LOCK_LOST', async () => {
    const { transaction } = open()
    const body = async (insert: (n: number) => Promise<unknown>, lease: Lease): Promise<void> => {
      while (lease.held) await insert(1)
    }
    const call = transaction(memoryLocks(), body, { lease: 500, renew: false })
    await expect(call).rejects.toMatchObject({ code: 'LOCK_LOST' })
    expect(await rows()).toEqual([])
  })

  it('are refused by a guard around them that has seen a higher token', async () => {
    const locks = memoryLocks()
    const { transaction, guard } = open()
    await transaction(locks, (insert) => insert(1), { fence: guard })
    await observer.run(`update holdfast_fence set token = ${2n ** 62n}`)
    const call = transaction(locks, (insert) => insert(2), { fence: guard })
    await expect(call).rejects.toMatchObject({ code: 'STALE_TOKEN', key: 'key' })
    expect(await rows()).toEqual([1])
  })
})
