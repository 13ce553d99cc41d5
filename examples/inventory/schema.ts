import type { Database } from './database.ts'

/** `storage_tbl` is the stock itself; the rest lets anyone check it at any time, and a client repeat itself safely. */
const TABLES = [
  `create table if not exists storage_tbl (
     commodity_code varchar(64) not null primary key,
     count bigint not null
   )`,
  `create table if not exists start_tbl (
     commodity_code varchar(64) not null primary key,
     count bigint not null
   )`,
  `create table if not exists order_tbl (
     order_id varchar(64) not null primary key,
     commodity_code varchar(64) not null,
     sold bigint not null,
     adjusted bigint not null,
     service varchar(64) not null,
     context varchar(200) not null,
     token varchar(32) not null
   )`,
  // What other systems are to be told of an order; a sender of its own would read it.
  `create table if not exists outbox_tbl (
     order_id varchar(64) not null primary key,
     message varchar(1000) not null
   )`,
  `create table if not exists request_tbl (
     request_key varchar(200) not null primary key,
     request text not null,
     answer text not null
   )`,
]

/** Rows that one statement inserts. */
const AT_ONCE = 200

async function createTables(database: Database): Promise<void> {
  // 'SKU-1' and 'sku-1' are two commodities, also for a server that would compare without case.
  const suffix = database.kind === 'mysql' ? ' character set utf8mb4 collate utf8mb4_bin' : ''
  for (const table of TABLES) await database.sql(`${table}${suffix}`)
}

/** Puts so many of each on the shelf, and begins the books anew. Whoever may be selling must be kept out meanwhile. */
export async function stockUp(database: Database, codes: readonly string[], count: number): Promise<void> {
  await createTables(database)
  await database.plain(async (sql) => {
    for (const table of ['storage_tbl', 'start_tbl', 'order_tbl', 'outbox_tbl', 'request_tbl'])
      await sql(`delete from ${table}`)
    for (let i = 0; i < codes.length; i += AT_ONCE) {
      const some = codes.slice(i, i + AT_ONCE)
      const rows = `(commodity_code, count) values ${some.map(() => '(?, ?)').join(', ')}`
      const values = some.flatMap((code) => [code, count])
      for (const table of ['storage_tbl', 'start_tbl']) await sql(`insert into ${table} ${rows}`, values)
    }
  })
}
