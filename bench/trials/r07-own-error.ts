import { setTimeout as sleep } from 'node:timers/promises'
import { errorText, median, ms, usual } from './facts.ts'
import { ON_SERVERS, type Trial } from './trial.ts'

export const ownError: Trial = {
  id: 'R7',
  title: "The user's own error after a loss",
  done: 'A section with a lease of 1.5 s blocks its thread for 2 s, so that the lock is lost, and then throws `OwnError`. Which error comes out, and when.',
  wish: '`OwnError`, at once.',
  contenders: [...ON_SERVERS, 'verrou-memory'],
  runs: 3,
  limitMs: 30_000,
  async play({ open, key }) {
    const library = await open()
    await (await library.take(`${key}-before`, { leaseMs: 10_000 })).release()
    let thrownAt = 0
    const error = await library
      .section(key, { leaseMs: 1_500 }, async () => {
        await sleep(50)
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000)
        await sleep(20)
        thrownAt = performance.now()
        throw new OwnError('mine')
      })
      .then(
        () => null,
        (reason: unknown) => reason,
      )
    return {
      error: error instanceof OwnError ? 'OwnError' : errorText(error),
      tookMs: performance.now() - thrownAt,
    }
  },
  tell(plays) {
    return `${String(usual(plays, 'error'))}, after ${ms(median(plays, 'tookMs'))}`
  },
}

class OwnError extends Error {}
