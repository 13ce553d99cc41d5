import type { PgPool } from '../databases/pg.ts'
import { isPostgresJs, type PostgresJs } from '../databases/postgres-js.ts'
import { isCutOff, isFarewell } from './postgres.ts'

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

const CANCEL = `select pg_cancel_backend(pid) from pg_stat_activity where ${which('pid', 'xact_start')} = $1`

/**
 * Cancels what a transaction of another connection does, if it is still there. This needs a connection; if all are in
 * use, the server's own limit for a statement has to do.
 */
export class Interruption {
  /** When it has been tried, or given up. Never rejects. */
  readonly tried: Promise<void>
  #over = false
  #asked = false

  constructor(db: PgPool | PostgresJs, transaction: unknown) {
    this.tried = this.#try(db, String(transaction)).then(undefined, () => undefined)
  }

  /**
   * Resolves when nothing is cancelled any more: the server looks for the transaction, and only then sends its signal,
   * which hits whatever the connection does by then. Does not wait for one that has no connection yet.
   */
  async end(): Promise<void> {
    this.#over = true
    if (this.#asked) await this.tried
  }

  async #try(db: PgPool | PostgresJs, transaction: string): Promise<void> {
    const mayAsk = (): boolean => (this.#asked = !this.#over)
    if (isPostgresJs(db)) return askOfPostgresJs(db, transaction, mayAsk)
    const { lend } = await import('../fence/lender.ts')
    await lend(db, async (query) => mayAsk() && (await query(CANCEL, [transaction])))
  }
}

/** In a transaction, which alone has a connection for itself: a query may be sent behind those of others. */
async function askOfPostgresJs(sql: PostgresJs, transaction: string, mayAsk: () => boolean): Promise<void> {
  await sql.begin('', async (tx) => {
    if (!mayAsk()) return
    await tx.unsafe(CANCEL, [transaction as never]).then(undefined, (error: unknown) => {
      // The client (3.4.9) would send ROLLBACK on a connection that is not there any more.
      if (isCutOff(error) || isFarewell(error)) return new Promise<never>(() => undefined)
      throw error
    })
  })
}
