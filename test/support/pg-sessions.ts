/**
 * How many sessions are as `condition` says: of the database of `run` only, since other files use the server at the same
 * time, and without the one that asks.
 */
export async function sessionsThat(
  run: (text: string) => Promise<readonly unknown[]>,
  condition: string,
): Promise<number> {
  const others = 'datname = current_database() and pid <> pg_backend_pid()'
  return (await run(`select 1 from pg_stat_activity where ${others} and (${condition})`)).length
}

/** For `sessionsThat`. */
export const ASLEEP = "wait_event = 'PgSleep'"
export const WAITING = "wait_event_type = 'Lock'"
