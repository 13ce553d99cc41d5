import { LockError } from '../errors.ts'
import type { Locks } from '../locks.ts'
import { withLocks } from './client.ts'
import type { Invocation } from './command.ts'
import { EXIT, exitCodeOf, explain } from './failure.ts'
import { Signals } from './signals.ts'

interface Session {
  readonly locks: Locks
  readonly signals: Signals
  readonly say: (line: string) => void
}

/** For a command of another program: its signals, a client, and a line on each trouble that the client reports. */
export async function withSession(
  { openLocks, terminal }: Invocation,
  use: (session: Session) => Promise<number>,
): Promise<number> {
  let last = ''
  const say = (line: string): void => void terminal.err.write(`holdfast: ${(last = line)}\n`)
  // Before the client, and for longer: to be interrupted in between would leave the key taken.
  const signals = new Signals()
  try {
    return await withLocks(openLocks, (locks) => {
      locks.on('error', ({ error }) => say(explain(error)))
      return use({ locks, signals, say })
    })
  } catch (error) {
    // It was told as it happened.
    if (exitCodeOf(error) === EXIT.unavailable && explain(error) === last) return EXIT.unavailable
    throw error
  } finally {
    signals.close()
  }
}

/** What runs under a lock must not run beside others: a store that nobody shares would let it, in silence. */
export async function checkShared({ storeSettings }: Invocation): Promise<void> {
  const { url = '' } = (await storeSettings?.()) ?? {}
  if (!/^memory:/i.test(url)) return
  throw new LockError(
    'INVALID_OPTION',
    'configuration: memory: excludes nobody but this process; name a store that all share, such as ' +
      'sqlite:/var/lib/locks.db',
  )
}
