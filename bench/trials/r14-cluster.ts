import { settles, usual } from './facts.ts'
import type { Trial } from './trial.ts'

export const severalKeysOnCluster: Trial = {
  id: 'R14',
  title: 'Three keys at once on Redis Cluster',
  done: 'A cluster of three masters. Three keys that belong to different masters are taken in one call, with no hash tags in their names.',
  wish: 'They are taken, all or none. Else the error says what to do.',
  contenders: ['holdfast', 'redlock', 'sesamecare', 'redlock-universal'],
  absent:
    'The other packages take one key at a time. syncguard fails here with one key, but could not be installed.',
  runs: 1,
  limitMs: 30_000,
  kind: 'redis-cluster',
  async play({ open, key }) {
    const library = await open()
    const keys = ['a', 'b', 'c'].map((end) => `${key}-${end}`)
    const terms = { leaseMs: 10_000, waitMs: 1_000 }
    const { value, error } = await settles(
      library.takeAll?.(keys, terms) ?? Promise.reject(new Error('')),
      10_000,
    )
    return { outcome: value ? 'taken' : (error ?? 'no answer within 10 s') }
  },
  tell: (plays) => String(usual(plays, 'outcome')),
}
