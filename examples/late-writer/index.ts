/**
 * A holder that is late, with and without a guard, on PostgreSQL:
 *
 *     DATABASE_URL=postgres://localhost/app npx tsx examples/late-writer/index.ts
 *
 * It makes a table of its own in a schema `late_writer`, and removes it.
 */
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { createLocks, LockError } from '../../src/index.ts'
import { fence } from '../../src/fence/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'

const { DATABASE_URL } = process.env
if (!DATABASE_URL)
  throw new Error('set DATABASE_URL to a PostgreSQL database, such as postgres://localhost/app')

const pool = new pg.Pool({ connectionString: DATABASE_URL })
const place = { schema: 'late_writer' }
// Two clients stand for two services.
const first = createLocks(postgresStore(pool, place), { service: 'first' })
const second = createLocks(postgresStore(pool, place), { service: 'second' })
const guard = fence(pool, place)

async function write(text: string, token: bigint, guarded: boolean): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    if (guarded) await guard.check(client, 'report', token)
    await client.query(`update late_writer.report set text = $1`, [text])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}

async function story(guarded: boolean): Promise<void> {
  console.log(guarded ? '\nWith a guard:' : 'Without a guard:')
  // Never renewed, as if the process stood still: a long collection of garbage, a laptop that sleeps.
  const late = await first.acquire('report', { lease: '500ms', renew: false })
  console.log('  first  holds the lock')
  await setTimeout(late.remainingMs + 200)

  const lease = await second.acquire('report')
  await write('by second', lease.token, guarded)
  console.log('  second has taken over and written')

  try {
    // The signal has told it by now. This one does not listen.
    await write('by first', late.token, guarded)
    console.log('  first  writes, late')
  } catch (error) {
    if (!(error instanceof LockError)) throw error
    console.log(`  first  is refused: ${error.code}`)
  }
  const { rows } = await pool.query('select text from late_writer.report')
  console.log(`  stored: ${rows[0].text}`)
  await lease.release()
}

try {
  await pool.query('create schema if not exists late_writer')
  await pool.query(`create table late_writer.report as select 'nothing yet'::text as text`)
  await guard.open()
  await story(false)
  await story(true)
} finally {
  await first.close()
  await second.close()
  await pool.query('drop schema late_writer cascade')
  await pool.end()
}
