/**
 * What batches can do at all: as many writes, and as durable ones, by statements that take whatever they are asked for.
 * Nobody is refused, there is no number and no lease.
 */
import pg from 'pg'
import type { Opened } from '../opened.ts'

const CREATE = `create table if not exists bare_locks
  (key text collate "C" primary key, owner text, expires_at timestamptz not null) with (fillfactor = 50)`

const TAKE = `insert into bare_locks as l (key, owner, expires_at)
select k.key, 'somebody', clock_timestamp() + interval '30 s' from unnest($1::text[]) as k(key)
on conflict (key) do update set owner = excluded.owner, expires_at = excluded.expires_at`

/** As the store does: who does not hear that it was given back loses nothing. */
const GIVE_BACK = `insert into bare_locks as l (key, owner, expires_at)
select k.key, null, clock_timestamp() from (select set_config('synchronous_commit', 'off', true)) as s,
  unnest($1::text[]) as k(key)
on conflict (key) do update set owner = null, expires_at = clock_timestamp()`

export async function viaBareBatches(url: string): Promise<Opened> {
  const [taking, giving] = [new pg.Client(url), new pg.Client(url)]
  await Promise.all([taking.connect(), giving.connect()])
  await taking.query(CREATE)
  const take = batched((keys) => taking.query({ name: 'take', text: TAKE, values: [keys] }))
  const giveBack = batched((keys) => giving.query({ name: 'give back', text: GIVE_BACK, values: [keys] }))
  return {
    async lock(key) {
      await take(key)
      return () => giveBack(key)
    },
    close: () => Promise.all([taking.end(), giving.end()]),
  }
}

/** One call at a time, for all that came while the one before was under way. */
function batched(call: (keys: readonly string[]) => Promise<unknown>): (key: string) => Promise<void> {
  let waiting: { readonly key: string; readonly done: () => void }[] = []
  let busy = false
  const next = async (): Promise<void> => {
    busy = true
    // Those of the same tick go along.
    await Promise.resolve()
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      await call(batch.map(({ key }) => key).sort())
      for (const { done } of batch) done()
      await Promise.resolve()
    }
    busy = false
  }
  return (key) =>
    new Promise((resolve) => {
      waiting.push({ key, done: resolve })
      if (!busy) void next()
    })
}
