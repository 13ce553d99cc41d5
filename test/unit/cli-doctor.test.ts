import { describe, expect, it } from 'vitest'
import { benchCommand } from '../../src/cli/bench.ts'
import { doctorCommand } from '../../src/cli/doctor.ts'
import { Times } from '../../src/cli/probe.ts'
import { LockError } from '../../src/errors.ts'
import { createLocks } from '../../src/locks.ts'
import type { Store } from '../../src/store.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { Paper, stage } from './support/cli-stage.ts'

/** A memory store with some of its steps replaced. */
function like(own: (store: Store) => Partial<Record<keyof Store, unknown>>): Store {
  const store = memoryStore()
  const changed = own(store)
  return new Proxy(store, {
    get: (_, name) => {
      if (Object.hasOwn(changed, name)) return changed[name as keyof Store]
      const value: unknown = Reflect.get(store, name)
      return typeof value === 'function' ? (value.bind(store) as unknown) : value
    },
  })
}

interface Report {
  readonly code: number
  readonly states: Readonly<Record<string, string>>
  readonly text: string
}

async function examine(store: Store): Promise<Report> {
  const { code, out } = await stage(store).run(doctorCommand, ['--json'])
  const { ok, findings } = JSON.parse(out) as { ok: boolean; findings: { name: string; state: string }[] }
  expect(ok).toBe(code === 0)
  return { code, states: Object.fromEntries(findings.map(({ name, state }) => [name, state])), text: out }
}

describe('doctor', () => {
  it('finds a store that works fine, and leaves no key in it', async () => {
    const { locks, run } = stage()
    const { code, out } = await run(doctorCommand, [])
    expect(code).toBe(0)
    expect(out.match(/^\w+ +\w+/gm)?.map((line) => line.split(/ +/))).toEqual(
      ['versions', 'settings', 'store', 'rights', 'clocks', 'latency', 'push'].map((name) => ['ok', name]),
    )
    expect(await locks.list()).toEqual({ locks: [], next: null })
  })

  it('says what is wrong with the configuration', async () => {
    const openLocks = (): Promise<never> =>
      Promise.reject(new LockError('INVALID_OPTION', 'configuration: store: missing'))
    const paper = new Paper()
    expect(await doctorCommand.run({ args: [], openLocks, terminal: paper.terminal })).toBe(1)
    expect(paper.out).toMatch(/^failed +settings +configuration: store: missing/m)
  })

  it('stops at a store that is down', async () => {
    const { code, states, text } = await examine(
      like(() => ({ open: () => Promise.reject(new Error('nobody is there')) })),
    )
    expect([code, states['store'], states['rights']]).toEqual([1, 'failed', undefined])
    expect(text).toContain('nobody is there')
  })

  it('finds a right that is missing', async () => {
    const { code, states, text } = await examine(
      like(() => ({ evict: () => Promise.reject(new Error('permission denied')) })),
    )
    expect([code, states['store'], states['rights']]).toEqual([1, 'ok', 'failed'])
    expect(text).toContain('permission denied')
  })

  it.each([
    ['shows no lock', { list: async () => ({ locks: [], next: null }) }],
    ['takes nothing away', { evict: async () => null }],
  ])('finds a store that %s', async (_, steps) => {
    const { code, states } = await examine(like(() => steps))
    expect([code, states['rights']]).toEqual([1, 'failed'])
  })

  it('warns where waiters are not woken', async () => {
    const { code, states } = await examine(like(() => ({ watch: undefined })))
    expect([code, states['push']]).toEqual([0, 'warning'])
  })

  it('warns where each client has locks of its own', async () => {
    const paper = new Paper()
    const openLocks = async (): Promise<ReturnType<typeof createLocks>> =>
      createLocks('memory:', { logger: null })
    expect(await doctorCommand.run({ args: [], openLocks, terminal: paper.terminal })).toBe(0)
    expect(paper.out).toMatch(/^warning +push/m)
  })

  it('tells of a clock that differs, and does not mind', async () => {
    const store = memoryStore({ now: () => Date.now() + 3_600_000 })
    const { states, text } = await examine(store)
    expect(states['clocks']).toBe('ok')
    expect(text).toContain('differ by 1h 00m')
  })
})

describe('bench', () => {
  it('prints three figures and leaves no key', async () => {
    const { locks, run } = stage()
    const { code, out } = await run(benchCommand, ['--seconds', '1', '--tasks', '10'])
    expect(code).toBe(0)
    expect(out).toMatch(
      /^10 tasks, a key each +\d+ pairs\/s\none task, one key +p50 .* ms, p95 .* ms .*\nfrom client to client +p50 .*\n$/,
    )
    expect(await locks.list()).toEqual({ locks: [], next: null })
  })
})

it('quantiles are of what was measured', () => {
  const times = new Times()
  for (let ms = 100; ms >= 1; ms -= 1) times.add(ms)
  expect([times.quantile(0.5), times.quantile(0.95), times.quantile(0)]).toEqual([50, 95, 1])
})
