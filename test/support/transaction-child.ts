// A process of its own that makes one transaction and may be frozen in it; see transaction-frozen.test.ts.
import pg from 'pg'
import { createLocks } from '../../src/locks.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { everyDriver } from './transaction-drivers.ts'

export interface Task {
  readonly url: string
  readonly locks: string
  readonly driver: string
  readonly leaseMs: number
  /** `pause`: between two statements. `statement`: while one runs. `commit`: just before COMMIT is sent. */
  readonly freezeIn: 'pause' | 'statement' | 'commit'
}

export interface Outcome {
  readonly ended: true
  readonly code?: string | undefined
  readonly message?: string | undefined
}

process.once('message', (task: Task) => {
  run(task).then(
    () => process.send?.({ ended: true } satisfies Outcome),
    ({ code, message }: Error & { code?: string }) =>
      process.send?.({ ended: true, code, message } satisfies Outcome),
  )
})
process.send?.('ready')

async function run({ url, locks: path, driver: name, leaseMs, freezeIn }: Task): Promise<void> {
  const locks = createLocks(sqliteStore(path), { service: 'frozen', logger: null })
  const driver = everyDriver.find((one) => one.name === name)
  if (!driver) throw new Error(`no driver ${name}`)
  const opened = await driver.open(url)
  if (freezeIn === 'commit') freezeAtCommit()
  const body = async (tx: { run(text: string): Promise<unknown[]> }): Promise<void> => {
    await tx.run("update account set writer = 'frozen', writes = writes + 1")
    if (freezeIn === 'commit') return
    process.send?.('inside')
    if (freezeIn === 'statement') await tx.run('select pg_sleep(0.4)')
    else await new Promise((resolve) => process.once('message', resolve))
    await tx.run('update account set writes = writes + 1')
  }
  await opened.transaction(locks, 'account', body, { lease: leaseMs })
}

/** Stops this process between the last look at the lease and COMMIT. */
function freezeAtCommit(): void {
  const client = pg.Client.prototype as unknown as { query(...args: unknown[]): unknown }
  const { query } = client
  client.query = function (...args) {
    if ((args[0] as { text?: string }).text?.endsWith('commit')) {
      process.send?.('inside')
      process.kill(process.pid, 'SIGSTOP')
    }
    return query.apply(this, args)
  }
}
