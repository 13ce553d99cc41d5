import { usual } from './facts.ts'
import type { Trial } from './trial.ts'

export const tokensAfterFlush: Trial = {
  id: 'R17',
  title: 'The fencing token after the server has lost its data',
  done: 'A lock is taken five times and its last token noted. The server forgets everything (FLUSHALL), and the lock is taken again.',
  wish: 'The token is higher: else every resource that has seen the old ones refuses the new holder.',
  contenders: ['holdfast', 'simple-redis-mutex'],
  absent: 'None of the other packages has a token. syncguard has, but could not be installed.',
  runs: 1,
  limitMs: 20_000,
  async play({ open, key, stage }) {
    const library = await open()
    const token = async (): Promise<bigint> => {
      const taken = await library.take(key, { leaseMs: 10_000 })
      await taken.release()
      return taken.token ?? 0n
    }
    for (let i = 0; i < 4; i += 1) await token()
    const before = await token()
    await stage.flush()
    const after = await token()
    return { before: String(before), after: String(after), rises: after > before }
  },
  tell(plays) {
    const [before, after] = [usual(plays, 'before'), usual(plays, 'after')]
    return `${usual(plays, 'rises') ? 'rises' : 'falls'}: ${String(before)}, then ${String(after)}`
  },
}
