import { setTimeout as sleep } from 'node:timers/promises'
import { median, ms, number } from './facts.ts'
import { ON_REDIS, type Trial } from './trial.ts'

const WAITERS = 20
const HOLD_MS = 25

export const waitersInOrder: Trial = {
  id: 'R18',
  title: '20 tasks of one process wait for one key',
  done: '20 tasks ask for a held key one after the other, and each then holds it for 25 ms; all else is default, with a wait of 20 s. From the release to the last turn; pairs of tasks, of 190, that were served in the wrong order; commands that the server counts.',
  wish: '500 ms and a little, in order, with few commands.',
  contenders: [...ON_REDIS, 'redisson-streams', 'holdfast-postgres', 'verrou-postgres', 'advisory-lock'],
  runs: 3,
  limitMs: 60_000,
  lanes: 3,
  async play({ open, key, stage, contender }) {
    const library = await open()
    const commands = (): Promise<number> =>
      contender.kind === 'redis' ? stage.commands() : Promise.resolve(0)
    const first = await library.take(key, { leaseMs: 30_000 })
    const before = await commands()
    const order: number[] = []
    let missed = 0
    const waiters = []
    for (let i = 0; i < WAITERS; i += 1) {
      const waiter = async (): Promise<void> => {
        const taken = await library.take(key, { leaseMs: 30_000, waitMs: 20_000 })
        order.push(i)
        await sleep(HOLD_MS)
        await taken.release()
      }
      waiters.push(waiter().catch(() => (missed += 1)))
      await sleep(5)
    }
    await sleep(300)
    const start = performance.now()
    await first.release()
    await Promise.all(waiters)
    const drainMs = performance.now() - start
    const sent = (await commands()) - before
    let inversions = 0
    for (const [index, one] of order.entries())
      inversions += order.slice(index + 1).filter((other) => other < one).length
    return { drainMs, inversions, sent, missed }
  },
  tell(plays) {
    const sent = median(plays, 'sent') ?? 0
    const missed = median(plays, 'missed') ?? 0
    const parts = [ms(median(plays, 'drainMs')), `${median(plays, 'inversions')} out of order`]
    if (sent > 0) parts.push(`${number(sent)} commands`)
    if (missed > 0) parts.push(`${missed} gave up`)
    return parts.join(', ')
  },
}
