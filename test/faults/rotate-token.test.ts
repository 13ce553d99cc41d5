import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { fence } from '../../src/fence/index.ts'
import { createLocks, memoryStore } from '../../src/index.ts'
import type { Store } from '../../src/store.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-rotate-'))
const pool = new pg.Pool({ connectionString: await freshDatabase() })
const guard = fence(pool)
afterAll(async () => {
  await pool.end()
  rmSync(folder, { recursive: true })
})

const stores: [string, () => Store][] = [
  ['memory', () => memoryStore()],
  ['sqlite', () => sqliteStore(join(folder, 'locks.db'))],
  ['postgres', () => postgresStore(pool)],
]

/** The token rises far more often than the lease needs; the lease outlasts a stall. */
const ROTATING = { lease: '10s', rotateToken: '300ms' } as const

describe.each(stores)('rotateToken on the %s store', (name, createStore) => {
  it('G3 raises the token of one and the same holder, and a guard refuses what is older', async () => {
    const locks = createLocks(createStore())
    const lease = await locks.acquire('leader', ROTATING)
    const tokens = [lease.token]
    await vi.waitFor(() => {
      if (lease.token > (tokens.at(-1) as bigint)) tokens.push(lease.token)
      expect(tokens.length).toBeGreaterThan(2)
    }, 10_000)
    expect(lease.held).toBe(true)

    const resource = `leader on ${name}`
    const [first, second, third] = tokens as [bigint, bigint, bigint]
    await check(resource, first)
    await check(resource, third)
    await check(resource, third)
    for (const old of [first, second]) {
      await expect(check(resource, old)).rejects.toMatchObject({ code: 'STALE_TOKEN', key: resource })
    }

    await lease.release()
    const next = await locks.acquire('leader')
    expect(next.token).toBeGreaterThan(tokens.at(-1) as bigint)
    await check(resource, next.token)
    await expect(check(resource, third)).rejects.toMatchObject({ code: 'STALE_TOKEN' })
    await next.release()
    await locks.close()
  })

  it('refuses a lease shorter than two rotations', async () => {
    const locks = createLocks(createStore())
    const wrong = locks.acquire('leader', { lease: '30s', rotateToken: '20s' })
    await expect(wrong).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    await locks.close()
  })
})

async function check(resource: string, token: bigint): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await guard.check(client, resource, token)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}
