import { describe, expect, it } from 'vitest'
import { startPostgres } from '../servers/postgres.ts'
import { acquire, askFor } from '../support/asks.ts'
import { atLast, observe, poolOn, storeOn } from '../support/postgres-stage.ts'

// Nobody writes or flushes but those whose steps are looked at.
const server = await startPostgres({
  settings: {
    wal_writer_delay: '10s',
    wal_level: 'minimal',
    max_wal_senders: 0,
    autovacuum: 'off',
    checkpoint_timeout: '1h',
  },
})
atLast(() => server.stop())
const query = observe(server.url)
/** What a page of the log has in front: the two places may be on either side of it. */
const PAGE_HEADER = 40

/** How much of the log a crash of the machine would lose now, in bytes. */
async function atRisk(): Promise<number> {
  const [row] = await query(
    'select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), pg_current_wal_flush_lsn())::int as bytes',
  )
  return Number(row?.bytes)
}

describe.each(['on', 'off'])('with synchronous_commit = %s for all', (setting) => {
  it.each([1, 3])(
    'a grant and a renewal of %d are on disk when they are answered; a refusal and a release may be lost',
    async (count) => {
      const pool = poolOn(server.url, { options: `-c synchronous_commit=${setting}` })
      const store = storeOn(pool, { listen: false })
      const asks = Array.from({ length: count }, (_, i) => askFor(`${setting} ${count} ${i}`))
      // Creates the table, and walks through it once.
      await store.acquire([askFor(`first of ${setting} ${count}`)])
      await expect.poll(() => pool.idleCount).toBe(pool.totalCount)
      for (let round = 0; round < 3; round += 1) {
        await store.acquire(asks)
        expect(await atRisk()).toBeLessThanOrEqual(PAGE_HEADER)
        await store.renew(asks)
        expect(await atRisk()).toBeLessThanOrEqual(PAGE_HEADER)
        expect(await acquire(store, askFor(asks[0]?.key ?? ''))).toMatchObject({ granted: false })
        expect(await atRisk()).toBeGreaterThan(PAGE_HEADER)
        // Makes the disk catch up with what was written before.
        await store.renew(asks)
        expect(await atRisk()).toBeLessThanOrEqual(PAGE_HEADER)
        await store.release(asks)
        expect(await atRisk()).toBeGreaterThan(PAGE_HEADER)
      }
    },
  )
})
