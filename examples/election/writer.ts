/** One of the processes: it stands for election, and writes to the log while it leads. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'libsql'
import { createLocks, type Election, LockError, type Term } from '../../src/index.ts'
import { fence } from '../../src/fence/index.ts'

/** What it tells `index.ts`. */
export type Word = 'ready' | 'leads' | 'paused' | 'wrote' | 'refused' | 'told'

/** What it is told. */
export type Order = 'stand' | 'pause' | 'resign' | 'stop'

// Short, so that the example need not wait long for the lease of one that was killed.
const LEASE_MS = 2_000
const WRITE_EVERY_MS = 100

const [folder = '', name = ''] = process.argv.slice(2)
const db = new Database(join(folder, 'log.db'))
db.pragma('busy_timeout = 5000')
const guard = fence(db)
const locks = createLocks(`sqlite:${join(folder, 'locks.db')}`, {
  service: 'writer',
  instance: name,
  lease: LEASE_MS,
  logger: null,
})

function say(word: Word): void {
  process.send?.(word)
}

/** The guard refuses a token that is older than one it has seen; the line is then not written. */
const write = db.transaction((token: bigint) => {
  guard.checkSync(db, 'log', token)
  db.prepare('insert into log (writer, token) values (?, ?)').run(name, String(token))
})

async function lead(term: Term): Promise<void> {
  say('leads')
  // A careless one: it looks at the signal only before it makes a line up. The guard is for what comes after that.
  while (!term.signal.aborted) {
    if (toPause) await pause()
    await sleep(WRITE_EVERY_MS)
    try {
      write.immediate(term.token)
      say('wrote')
    } catch (error) {
      if (!(error instanceof LockError && error.code === 'STALE_TOKEN')) throw error
      return say('refused')
    }
  }
  say('told')
}

let toPause = false

/** By its own hand, when it is in no transaction: from outside it might be, and then it would stop all others. */
async function pause(): Promise<void> {
  toPause = false
  await new Promise((resolve) => process.send?.('paused' satisfies Word, resolve))
  process.kill(process.pid, 'SIGSTOP')
}

process.once('disconnect', () => process.exit())
let election: Election | undefined
process.on('message', (order: Order) => {
  if (order === 'stand') election = locks.elect('writer', lead)
  if (order === 'pause') toPause = true
  if (order === 'resign') void election?.resign()
  if (order === 'stop') void locks.close().then(() => process.disconnect())
})
say('ready')
