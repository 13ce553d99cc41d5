import { setTimeout as sleep } from 'node:timers/promises'
import { settles, usual } from './facts.ts'
import { ON_SERVERS, type Trial } from './trial.ts'

export const takeOver: Trial = {
  id: 'R10',
  title: 'A late holder and its successor',
  done: 'A takes a lock with a lease of 0.5 s and lets it run out. B takes it for 10 s. A releases, late. Then C tries; B releases; C tries again.',
  wish: "A's release changes nothing, C is refused, B can release, C gets it.",
  contenders: [...ON_SERVERS, 'holdfast-memory', 'verrou-memory'],
  runs: 1,
  limitMs: 30_000,
  async play({ open, openBeside, key }) {
    const [first, second, third] = [await open(), await openBeside(), await openBeside()]
    const late = await first.take(key, { leaseMs: 500 })
    await sleep(700)
    const heir = await second.take(key, { leaseMs: 10_000, waitMs: 2_000 })
    await settles(late.release(), 5_000)
    const intruder = await settles(third.take(key, { leaseMs: 10_000, waitMs: 0 }), 5_000)
    await intruder.value?.release()
    const release = await settles(heir.release(), 5_000)
    const next = await settles(third.take(key, { leaseMs: 10_000, waitMs: 0 }), 5_000)
    return {
      freed: intruder.value !== undefined,
      releaseError: release.error ?? null,
      next: next.value !== undefined,
    }
  },
  tell(plays) {
    const freed = usual(plays, 'freed')
    const error = usual(plays, 'releaseError')
    if (freed) return `A frees B's lock: C is in beside B`
    if (error !== null) return `B cannot release: ${String(error)}`
    return usual(plays, 'next') ? 'as wished' : 'still taken after B released'
  },
}
