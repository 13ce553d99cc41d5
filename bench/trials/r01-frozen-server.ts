import { setTimeout as sleep } from 'node:timers/promises'
import { median, ms } from './facts.ts'
import type { Held } from './library.ts'
import { ON_SERVERS, type Trial } from './trial.ts'

const LEASE_MS = 2_000
const FROZEN_FROM_MS = 200
const FROZEN_TO_MS = 6_000
const WATCHED_MS = 9_000

export const frozenServer: Trial = {
  id: 'R1',
  title: 'The server stands still',
  done: 'A section with a lease of 2 s. The server is stopped (SIGSTOP) from 0.2 s to 6 s after the grant, and the section is watched for up to 9 s. Time until the library says that the lock is lost, counted from before the lock was asked for.',
  wish: 'Word before 2,000 ms: by then the server may give the lock to someone else.',
  contenders: [...ON_SERVERS, 'etcd3', 'etcd3-election'],
  absent: 'The lease of mongo-locks is always a minute; advisory-lock has none.',
  runs: 3,
  limitMs: 60_000,
  async play({ open, key, stage, contender }) {
    // Later it may have renewed once, and rightly tells later.
    const byMs = (contender.renewsAfterMs?.(LEASE_MS) ?? LEASE_MS) - 50
    const library = await open()
    // The first one also connects, creates tables, loads scripts.
    await (await library.take(`${key}-before`, { leaseMs: 10_000 })).release()
    for (let attempt = 1; ; attempt += 1) {
      const facts = { toldMs: null as number | null, saysMs: null as number | null, canSay: false }
      let frozenMs = Infinity
      const start = performance.now()
      const since = (): number => performance.now() - start
      const body = async ({ onLoss, says }: Held): Promise<void> => {
        onLoss?.(() => (facts.toldMs ??= since()))
        facts.canSay = says !== undefined
        await sleep(FROZEN_FROM_MS - since())
        await stage.pause()
        frozenMs = since()
        const end = frozenMs > byMs ? 0 : onLoss ? WATCHED_MS : FROZEN_TO_MS + 500
        while (since() < end && facts.toldMs === null) {
          if (says && !says()) facts.saysMs ??= since()
          if (since() > FROZEN_TO_MS) await stage.resume()
          await sleep(5)
        }
        await stage.resume()
      }
      await library.section(`${key}-${attempt}`, { leaseMs: LEASE_MS }, body).catch(() => {})
      if (frozenMs <= byMs) return facts
      if (attempt === 3) throw new Error('the server could not be stopped in time')
    }
  },
  tell(plays) {
    const told = median(plays, 'toldMs')
    const says = median(plays, 'saysMs')
    if (told !== null) return `told after ${ms(told)}`
    if (says !== null) return `never told; when asked, it says so from ${ms(says)} on`
    return plays[0]?.facts['canSay']
      ? 'never told; when asked, it still says "held"'
      : 'never told, and cannot be asked'
  },
}
