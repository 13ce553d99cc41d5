import { setTimeout as sleep } from 'node:timers/promises'
import { all, median, ms, values } from './facts.ts'
import { ON_REDIS, type Trial } from './trial.ts'

const LEASE_MS = 1_500
const BLOCKED_MS = 2_500

export const blockedLoop: Trial = {
  id: 'R2',
  title: 'The event loop is blocked for longer than the lease',
  done: 'A section with a lease of 1.5 s blocks its thread for 2.5 s. What the library says in the next line, before any other code runs; and how much later it tells, within 3 s.',
  wish: 'The next line already sees the loss.',
  contenders: [...ON_REDIS, 'holdfast-postgres', 'mongo-dlock', 'etcd3'],
  absent: 'The lease of mongo-locks is always a minute; advisory-lock has none.',
  runs: 3,
  limitMs: 30_000,
  async play({ open, key }) {
    const library = await open()
    await (await library.take(`${key}-before`, { leaseMs: 10_000 })).release()
    const facts = { canSay: false, saysHeld: null as boolean | null, toldMs: null as number | null }
    await library
      .section(key, { leaseMs: LEASE_MS }, async ({ onLoss, says }) => {
        facts.canSay = says !== undefined
        let end = Infinity
        onLoss?.(() => (facts.toldMs ??= performance.now() - end))
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_MS)
        end = performance.now()
        facts.saysHeld = says ? says() : null
        for (let i = 0; i < (onLoss ? 300 : 1) && facts.toldMs === null; i += 1) await sleep(10)
      })
      .catch(() => {})
    return facts
  },
  tell(plays) {
    const told = median(plays, 'toldMs')
    if (!plays[0]?.facts['canSay'])
      return told === null ? 'cannot be asked, never told' : `cannot be asked; told ${ms(told)} later`
    const held = values(plays, 'saysHeld').filter(Boolean).length
    const line = all(plays, 'saysHeld')
      ? 'next line: "held"'
      : held === 0
        ? 'next line: lost'
        : 'next line: "held" at times'
    return `${line}; ${told === null ? 'never told' : `told ${ms(Math.max(0, told))} later`}`
  },
}
