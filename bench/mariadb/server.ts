import { randomBytes } from 'node:crypto'
import mysql, { type Pool, type RowDataPacket } from 'mysql2/promise'

/** Where `index.ts` has a server for all rounds. */
const SERVER = 'HOLDFAST_MYSQL_URL'
/** As many as a service may have. */
const CONNECTIONS = 10

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
export async function makePlain(pool: Pool): Promise<(key: string) => Promise<void>> {
  await pool.query('create table plain (name varchar(200) primary key, owner varchar(40) not null)')
  return async (key) => {
    const owner = randomBytes(12).toString('base64url')
    await pool.execute('insert ignore into plain values (?, ?)', [key, owner])
    await pool.execute('delete from plain where name = ? and owner = ?', [key, owner])
  }
}
