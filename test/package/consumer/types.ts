// A user's program in TypeScript: every subpath and what its types promise. Compiled, never run.
import {
  type AcquireOptions,
  type Body,
  createLocks,
  type Duration,
  type Environment,
  type Health,
  type Lease,
  LOCK_ERROR_CODES,
  LockError,
  type LockErrorCode,
  type LockEvents,
  type LockPage,
  type LockRecord,
  type Locks,
  type LocksOptions,
  type LockStats,
  type Logger,
  type Store,
  systemEnvironment,
  type UsingOptions,
} from 'holdfast'
import { memoryStore, type MemoryStoreOptions } from 'holdfast/memory'
import { sqliteStore, type SqliteStoreOptions } from 'holdfast/sqlite'
import { type ConformanceOptions, type Runner, storeConformance } from 'holdfast/testing'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function same<A, B>(..._: Equal<A, B> extends true ? [] : ['these types differ', A, B]): void {}

const environment: Environment = systemEnvironment
const logger: Logger = { warn: (message) => void message }
const options: LocksOptions = { service: 'orders', lease: '30s', wait: Infinity, logger, environment }
const memory: MemoryStoreOptions = { now: () => 0 }
const sqlite: SqliteStoreOptions = { table: undefined, now: undefined }
const store: Store = memoryStore(memory)
memoryStore({ now: undefined })
const file: Store = sqliteStore('./locks.db', sqlite)
const locks: Locks = createLocks(store, options)
createLocks(file)
createLocks('sqlite:./locks.db')

export async function tour(key: string, signal: AbortSignal): Promise<void> {
  const count = await locks.using(key, async (lease) => {
    same<typeof lease, Lease>()
    same<typeof lease.token, bigint>()
    const passedOn: AbortSignal = lease.signal
    return Number(passedOn.aborted)
  })
  same<typeof count, number>()
  const using: UsingOptions = { wait: '1s', onLost: 'ignore' }
  const body: Body<string> = () => 'done'
  same<string, Awaited<ReturnType<typeof locks.using<string>>>>()
  await locks.using(key, using, body)

  const acquire: AcquireOptions = { signal, context: { order: 42 }, lease: '250ms', renew: false }
  const lease = await locks.acquire(key, acquire)
  same<typeof lease, Lease>()
  same<ReturnType<typeof lease.release>, Promise<boolean>>()
  await lease.extend('5m')
  await lease[Symbol.asyncDispose]()

  const tried = await locks.tryAcquire(key)
  same<typeof tried, Lease | null>()

  const page: LockPage = await locks.list({ prefix: 'order:', limit: 10 })
  const record: LockRecord | null = await locks.inspect(key)
  await locks.forceRelease(key, { grant: record?.grant ?? page.locks.length })
  const stats: LockStats = locks.stats()
  const health: Health = await locks.health()
  const off = locks.on('lost', (event) => same<typeof event, LockEvents['lost']>())
  off()
  void [stats, health]
  await locks.close()
}

export function explain(error: unknown): LockErrorCode | null {
  if (!(error instanceof LockError)) return null
  const codes: readonly LockErrorCode[] = LOCK_ERROR_CODES
  return codes.includes(error.code) ? error.code : null
}

export function check(runner: Runner, suite: ConformanceOptions): void {
  storeConformance(runner, suite)
}

const fine: Duration[] = [5, '250ms', '30s', '5m', '1h']
// @ts-expect-error a unit that does not exist
const parsecs: Duration = '5 parsecs'
// @ts-expect-error an option that does not exist
void locks.acquire('key', { patience: '5s' })
// @ts-expect-error a key is a string
void locks.acquire(42)
void [fine, parsecs]
