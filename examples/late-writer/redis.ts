/**
 * A holder that is late, with and without a guard, on Redis:
 *
 *     REDIS_URL=redis://localhost:6379 npx tsx examples/late-writer/redis.ts
 *
 * Its keys begin with `late_writer`, and are removed.
 */
import { setTimeout } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createLocks, LockError } from '../../src/index.ts'
import { redisFence } from '../../src/fence/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'

const { REDIS_URL } = process.env
if (!REDIS_URL) throw new Error('set REDIS_URL to a Redis or Valkey, such as redis://localhost:6379')

const redis = new Redis(REDIS_URL)
// Two clients stand for two services.
const first = createLocks(redisStore(redis, { prefix: 'late_writer' }), { service: 'first' })
const second = createLocks(redisStore(redis, { prefix: 'late_writer' }), { service: 'second' })
const guard = redisFence(redis, { prefix: 'late_writer:fence:' })
const REPORT = 'late_writer:report'

async function write(text: string, token: bigint, guarded: boolean): Promise<void> {
  const script = `redis.call('SET', KEYS[1], ARGV[1])`
  if (guarded) await guard.run('report', token, script, { keys: [REPORT], args: [text] })
  else await redis.eval(script, 1, REPORT, text)
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
  console.log(`  stored: ${await redis.get(REPORT)}`)
  await lease.release()
}

try {
  await story(false)
  await story(true)
} finally {
  await first.close()
  await second.close()
  await guard.forget('report')
  await redis.del(REPORT)
  redis.disconnect()
}
