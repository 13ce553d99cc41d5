import { describe, expect, it } from 'vitest'
import { createLocks } from '../../src/locks.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { Incidents } from '../../src/alerts/incidents.ts'
import { watchLocks } from '../../src/alerts/index.ts'
import { ALL_OFF, watched } from './support/alerts.ts'
import { VirtualTime } from './support/virtual-time.ts'

describe('store unreachable', () => {
  it('is told when no call has succeeded for so long, without any traffic of the program', async () => {
    const { time, store, locks, alerts, heard } = watched({ storeUnreachable: '15s' })
    await time.advance(30_000)
    expect(heard()).toEqual([])
    store.mood.list = 'fail'
    await time.advance(40_000)
    expect(heard()).toEqual(['store-unreachable on'])
    expect(alerts[0]!.message).toMatch(/^the trial store has not answered for \d+ s; the limit is 15 s$/)
    await time.advance(600_000)
    expect(heard()).toEqual(['store-unreachable on'])
    store.mood.list = 'work'
    await time.advance(15_000)
    expect(heard()).toEqual(['store-unreachable on', 'store-unreachable over'])
    await locks.close()
  })

  it('is told of a store that never answers, and is not while some calls succeed', async () => {
    const { time, store, locks, heard } = watched({ storeUnreachable: '15s' })
    store.mood.acquire = 'hang'
    for (let i = 0; i < 10; i += 1) {
      await Promise.all([locks.acquire('k', { wait: '4s' }).catch(() => {}), time.advance(5000)])
      await locks.inspect('k')
    }
    expect(heard()).toEqual([])
    store.mood.list = 'hang'
    await time.advance(60_000)
    expect(heard()).toEqual(['store-unreachable on'])
    store.mood.acquire = 'work'
    store.mood.list = 'work'
    await locks.close()
  })

  it('asks the store of itself only when there is no traffic, or it fails', async () => {
    const { time, store, locks } = watched({ storeUnreachable: '15s' })
    for (let i = 0; i < 20; i += 1) {
      await locks.using('k', async () => {})
      await time.advance(5000)
    }
    expect(store.count('list')).toBe(0)
    await time.advance(100_000)
    const asked = store.count('list')
    expect(asked).toBeGreaterThan(5)
    expect(asked).toBeLessThanOrEqual(20)
    await locks.close()
  })

  it('is never asked for when it is switched off', async () => {
    const { time, store, locks } = watched({ storeUnreachable: false })
    await time.advance(600_000)
    expect(store.calls).toEqual([])
    await locks.close()
  })
})

describe('pool exhausted', () => {
  it('is told when calls have waited for a connection for so long', async () => {
    const { time, store, locks, alerts, heard } = watched({ poolExhausted: '10s' })
    const pool = { open: 4, idle: 0, waiting: 0 }
    Object.assign(store, { pool: () => ({ ...pool }) })
    await locks.using('k', async () => {})
    pool.waiting = 7
    await time.advance(9000)
    pool.waiting = 0
    await time.advance(6000)
    pool.waiting = 7
    await time.advance(14_000)
    expect(heard()).toEqual([])
    await time.advance(5000)
    expect(heard()).toEqual(['pool-exhausted on'])
    expect(alerts[0]!.message).toContain('7 of them now, with 4 open')
    pool.waiting = 0
    await time.advance(5000)
    expect(heard()).toEqual(['pool-exhausted on', 'pool-exhausted over'])
    await locks.close()
  })
})

describe('tokens that jump', () => {
  /** A store whose clock can be set; one grant of a new key each second. */
  async function stage(): Promise<
    { run: (s: number, key?: string) => Promise<void>; set: (by: number) => void } & Record<
      'heard',
      () => string[]
    >
  > {
    const time = new VirtualTime()
    let offset = 1_700_000_000_000
    let frozen: number | null = null
    const store = memoryStore({ now: () => frozen ?? offset + time.now() })
    const locks = createLocks(store, { logger: null, environment: time })
    const alerts: string[] = []
    locks.on('alert', ({ kind, state, message }) =>
      alerts.push(`${kind} ${state} ${/ahead|behind/.exec(message)![0]}`),
    )
    watchLocks(locks, { on: { ...ALL_OFF, tokenJump: '1m' }, environment: time })
    let keys = 0
    return {
      heard: () => alerts,
      set: (by) => {
        offset += by
        frozen = by === 0 ? (frozen === null ? offset + time.now() : null) : frozen
      },
      async run(seconds, key) {
        for (let i = 0; i < seconds; i += 1) {
          await locks.using(key ?? `k${(keys += 1)}`, async () => {})
          await time.advance(1000)
        }
      },
    }
  }

  it('are told when the clock of the store is set forward, and over when it goes on from there', async () => {
    const { run, set, heard } = await stage()
    await run(120)
    set(3_600_000)
    await run(20)
    expect(heard()).toEqual(['token-jump on ahead'])
    await run(120)
    expect(heard()).toEqual(['token-jump on ahead', 'token-jump over ahead'])
  })

  it('are told when it is set back', async () => {
    const { run, set, heard } = await stage()
    await run(30)
    set(-3_600_000)
    await run(90)
    expect(heard()).toEqual(['token-jump on behind'])
  })

  it('are told when a key that is known goes on by one each, since the clock is behind it', async () => {
    const { run, set, heard } = await stage()
    await run(30, 'k')
    set(-3_600_000)
    await run(120, 'k')
    expect(heard()).toEqual(['token-jump on behind'])
  })

  it('are one incident while some keys go on from where they were and others follow the clock', async () => {
    const [time, states] = [new VirtualTime(), [] as string[]]
    const incidents = new Incidents(time, ({ state }) => states.push(state))
    const finding = { kind: 'token-jump', key: null, value: 1, limit: 1, message: 'behind' } as const
    for (let look = 0; look < 20; look += 1) {
      incidents.see(look % 3 === 0 ? [finding] : [])
      await time.advance(5000)
    }
    expect(states).toEqual(['on'])
    await time.advance(30_000)
    incidents.see([])
    expect(states).toEqual(['on', 'over'])
  })

  it('are told when the clock stands still, and over when it has run for a minute', async () => {
    const { run, set, heard } = await stage()
    await run(30)
    set(0)
    await run(50)
    expect(heard()).toEqual([])
    await run(30)
    expect(heard()).toEqual(['token-jump on behind'])
    await run(120)
    expect(heard()).toEqual(['token-jump on behind'])
    set(0)
    await run(120)
    expect(heard().at(-1)).toMatch(/^token-jump over/)
  })

  it('are not told of quiet hours, hand-offs, or a clock that is corrected by seconds', async () => {
    const { run, set, heard } = await stage()
    for (let i = 0; i < 20; i += 1) {
      await run(3)
      set(i % 2 === 0 ? 5000 : -5000)
    }
    await run(5, 'same')
    expect(heard()).toEqual([])
  })

  it('cost one event in a while: nobody listens between a sample and the next look', async () => {
    const { time, locks } = watched({ tokenJump: '1m' })
    let listening = 0
    const { on } = locks
    locks.on = ((...given: Parameters<typeof on>) => {
      listening += 1
      const off = on.apply(locks, given)
      return () => {
        listening -= 1
        off()
      }
    }) as typeof on
    await locks.using('k', async () => {})
    await time.advance(5000)
    expect(listening).toBe(1)
    await locks.using('k', async () => {})
    expect(listening).toBe(0)
    await locks.close()
  })
})
