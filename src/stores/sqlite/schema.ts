import { isName, shownName } from '../../databases/names.ts'
import { LockError } from '../../errors.ts'

export const DEFAULT_TABLE = 'holdfast_locks'

/** No lock can have this key; its record keeps the fence, see `steps.ts`. */
export const FENCE_KEY = ''

// Times are milliseconds since 1970. No index on expires_at: only the rare clean-up would use it.
const COLUMNS = {
  key: 'text not null primary key',
  owner: 'text not null',
  grant_number: 'integer not null',
  service: 'text not null',
  instance: 'text not null',
  context: 'text',
  granted_at: 'integer not null',
  lease_ms: 'integer not null',
  renewed_at: 'integer not null',
  expires_at: 'integer not null',
  wanted: 'integer not null',
} as const

const NAMES = Object.keys(COLUMNS)

export interface Sql {
  readonly table: string
  readonly create: string
  readonly touchFence: string
  readonly lock: string
  readonly read: string
  readonly readOne: string
  readonly take: string
  readonly prolong: string
  readonly want: string
  readonly drop: string
  readonly raiseFence: string
  readonly free: string
  readonly list: string
  readonly stale: string
}

/**
 * Every statement of the store. Those on several keys take them as one JSON array: one call of the
 * driver for a batch, where libsql spends half as long as with a call per key.
 */
export function sqlFor(table: string): Sql {
  const name = `main."${table}"`
  const fence = (grant: string): string =>
    `insert into ${name} (${NAMES.join(', ')})
      values ('${FENCE_KEY}', '', ${grant}, '', '', null, 0, 0, 0, 0, 0) on conflict (key)`
  return {
    table,
    create: `create table if not exists ${name} (
      ${NAMES.map((column) => `${column} ${COLUMNS[column as keyof typeof COLUMNS]}`).join(', ')}
    ) without rowid`,
    touchFence: `${fence('0')} do nothing`,
    // Changes nothing, but takes the lock that every change needs.
    lock: `update ${name} set wanted = wanted where 0`,
    // ?: ["key", …]. `position` is the index in that array.
    read: `select j.key as position, t.* from json_each(?) as j cross join ${name} as t on t.key = j.value`,
    readOne: `select * from ${name} where key = ?`,
    // ?: [[each column but wanted, in order], …]
    take: `replace into ${name} (${NAMES.join(', ')})
      select ${NAMES.slice(0, -1)
        .map((_, i) => `value ->> ${i}`)
        .join(', ')}, 0 from json_each(?)`,
    // ?: [[key, grant, lease, renewed, expires], …]
    prolong: `update ${name} as t set grant_number = j.value ->> 1, lease_ms = j.value ->> 2,
      renewed_at = j.value ->> 3, expires_at = j.value ->> 4 from json_each(?) as j where t.key = j.value ->> 0`,
    want: `update ${name} set wanted = 1 where key in (select value from json_each(?))`,
    drop: `delete from ${name} where key in (select value from json_each(?))`,
    raiseFence: `${fence('?')} do update set grant_number = max(grant_number, excluded.grant_number)`,
    // ?: ["key", …], now
    free: `select j.value as key from json_each(?) as j
      where not exists (select 1 from ${name} as t where t.key = j.value and t.expires_at > ?)`,
    // ?: now
    list: `select * from ${name} where expires_at > ?`,
    // ?: before when, limit
    stale: `select key, grant_number from ${name} where expires_at < ? and key <> '${FENCE_KEY}' limit ?`,
  }
}

export function checkTable(table: unknown): string {
  if (!isName(table) || /^sqlite_/i.test(table)) {
    throw new LockError(
      'INVALID_OPTION',
      `sqliteStore: table: ${shownName(table)} cannot name a table; use letters, digits and underscores, ` +
        'at most 63, and neither start with a digit nor with sqlite_',
    )
  }
  return table
}
