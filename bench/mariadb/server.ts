import { randomBytes } from 'node:crypto'
import mysql, { type Pool, type ResultSetHeader, type RowDataPacket } from 'mysql2/promise'

/** Where `index.ts` has a server for all rounds. */
const SERVER = 'HOLDFAST_MYSQL_URL'
/** As many as a service may have. */
export const CONNECTIONS = 10

/** Runs `work` with the URL of a new, empty database on a server that writes every commit to disk. */
export async function withDatabase<T>(work: (url: string) => Promise<T>): Promise<T> {
  const server = process.env[SERVER]
  if (!server) throw new Error(`${SERVER} is not set`)
  const name = `holdfast_bench_${randomBytes(6).toString('hex')}`
  const url = new URL(server)
  url.pathname = name
  return onServer(server, async (pool) => {
    const [rows] = await pool.query<RowDataPacket[]>('select @@innodb_flush_log_at_trx_commit as flush')
    if (Number(rows[0]?.['flush']) !== 1) throw new Error(`nobody's locks would be durable`)
    await pool.query(`create database ${name}`)
    try {
      return await work(url.href)
    } finally {
      await pool.query(`drop database ${name}`)
    }
  })
}

/** Runs `work` on connections of its own. */
export async function onServer<T>(url: string, work: (pool: Pool) => Promise<T>): Promise<T> {
  const pool = mysql.createPool({ uri: url, connectionLimit: CONNECTIONS })
  try {
    return await work(pool)
  } finally {
    await pool.end()
  }
}

export async function versionOf(pool: Pool): Promise<string> {
  const [rows] = await pool.query<RowDataPacket[]>('select version() as version')
  return String(rows[0]?.['version'])
}

/** What one would do by hand. */
interface Plain {
  /** Null if the key is held. */
  take(key: string): Promise<string | null>
  giveBack(key: string, owner: string): Promise<void>
}

export async function makePlain(pool: Pool): Promise<Plain> {
  await pool.query(
    'create table if not exists plain (name varchar(200) primary key, owner varchar(40) not null)',
  )
  return {
    async take(key) {
      const owner = randomBytes(12).toString('base64url')
      const [result] = await pool.execute<ResultSetHeader>('insert ignore into plain values (?, ?)', [
        key,
        owner,
      ])
      return result.affectedRows === 1 ? owner : null
    },
    async giveBack(key, owner) {
      await pool.execute('delete from plain where name = ? and owner = ?', [key, owner])
    },
  }
}

/** Takes a key that nobody else wants, and gives it back. */
export async function pairOf(plain: Plain, key: string): Promise<void> {
  const owner = await plain.take(key)
  if (owner === null) throw new Error(`"${key}" was held`)
  await plain.giveBack(key, owner)
}
