import { randomUUID } from 'node:crypto'
import pg from 'pg'

/** What one writes by hand: one statement takes a key, one gives it back. Both wait for the disk. */
export const CREATE = `create table if not exists plain_locks
  (key text primary key, owner text not null, expires_at timestamptz not null)`

const TAKE = `insert into plain_locks as l (key, owner, expires_at)
values ($1, $2, clock_timestamp() + interval '30 s')
on conflict (key) do update set owner = excluded.owner, expires_at = excluded.expires_at
where l.expires_at < clock_timestamp()
returning owner`

const GIVE_BACK = `delete from plain_locks where key = $1 and owner = $2`

/** Prepared once for each connection, as holdfast does. Null if the key is held. */
export async function take(client: pg.Client | pg.Pool, key: string): Promise<string | null> {
  const owner = randomUUID()
  const { rowCount } = await client.query({ name: 'take', text: TAKE, values: [key, owner] })
  return rowCount === 1 ? owner : null
}

export async function giveBack(client: pg.Client | pg.Pool, key: string, owner: string): Promise<void> {
  const { rowCount } = await client.query({ name: 'give back', text: GIVE_BACK, values: [key, owner] })
  if (rowCount !== 1) throw new Error(`"${key}" was not ours`)
}
