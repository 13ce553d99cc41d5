import { median, ms, settles, usual } from './facts.ts'
import type { Trial } from './trial.ts'

export const splitVote: Trial = {
  id: 'R6',
  title: 'A split vote',
  done: 'One lock over two Redis servers, of which one has the key taken by someone else; one try. Two is a poor number for a vote, and the smallest that can be split.',
  wish: 'It is refused, soon, and leaves nothing on the server that voted for it.',
  contenders: ['redlock', 'sesamecare', 'redlock-universal', 'redis-semaphore'],
  absent: 'Does not apply to holdfast: it has no vote over several masters. That is a feature that it lacks.',
  runs: 3,
  limitMs: 20_000,
  servers: 2,
  async play({ contender, open, key, urls }) {
    const library = await open()
    const one = await contender.open({ url: urls[0] ?? '' })
    await one.take(key, { leaseMs: 10_000 })
    const {
      ms: tookMs,
      error,
      value,
    } = await settles(library.take(key, { leaseMs: 10_000, waitMs: 0 }), 5_000)
    return { tookMs, outcome: value ? 'granted' : (error ?? 'still pending after 5 s') }
  },
  tell(plays) {
    const took = median(plays, 'tookMs')
    const outcome = String(usual(plays, 'outcome'))
    return took === null
      ? outcome
      : `${outcome === 'granted' ? 'granted' : `refused: ${outcome}`}, after ${ms(took)}`
  },
}
