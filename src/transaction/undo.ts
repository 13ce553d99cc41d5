import type { PgPool } from '../databases/pg.ts'
import type { PostgresJs } from '../databases/postgres-js.ts'

const LOST = 'the lease of this transaction is lost'

/**
 * Undoes a transaction whose function still runs, savepoints and all, and leaves another in its place that has failed:
 * what is sent past us, or by the driver itself, fails rather than being stored by itself.
 */
export const UNDO: string = `rollback and chain; select cast('${LOST}' as int)`

function which(pid: string, start: string): string {
  return `${pid} || ' ' || (extract(epoch from ${start}) * 1000000)::bigint`
}

/** Names the transaction that asks for it. */
export const WHICH: string = which('pg_backend_pid()', 'now()')

/**
 * Cancels what a transaction of another connection does, if it is still there. This needs a connection: if all are in
 * use, one that comes too late finds nothing to cancel. Never rejects.
 */
export async function interrupt(db: PgPool | PostgresJs, transaction: unknown): Promise<void> {
  const text = `select pg_cancel_backend(pid) from pg_stat_activity where ${which('pid', 'xact_start')} = $1`
  try {
    const { lenderOf } = await import('../fence/lender.ts')
    await lenderOf(db).query(text, [String(transaction)])
  } catch {
    // The server's own limit for a statement ends it.
  }
}
