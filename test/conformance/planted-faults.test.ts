import { describe, expect, it } from 'vitest'
import type { Store } from '../../src/store.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import type { ConformanceOptions } from '../../src/testing/index.ts'
import { type CollectedTest, collectSuite, failuresOf } from './collected-suite.ts'
import { GRANT_FAULTS } from './faulty-grants.ts'
import { STEP_FAULTS } from './faulty-steps.ts'
import { VIEW_FAULTS } from './faulty-views.ts'
import { ModelServer, ModelStore } from './model-store.ts'

const FAULTS = [...STEP_FAULTS, ...GRANT_FAULTS, ...VIEW_FAULTS]

describe.concurrent('the conformance suite', () => {
  it('passes a correct store', async () => {
    const store = memoryStore()
    const failures = await failuresOf(suite(() => store))
    expect(Object.fromEntries(failures)).toEqual({})
  })

  it('passes the model that the faults are planted in', async () => {
    const server = new ModelServer()
    const failures = await failuresOf(suite(() => new ModelStore(server)))
    expect(Object.fromEntries(failures)).toEqual({})
  })

  it.for(FAULTS)('notices: $fault', async ({ store: Faulty, caughtBy, options }) => {
    const server = new ModelServer()
    const tests = suite(() => new Faulty(server), { patienceMs: 1_000, ...options }).filter(({ name }) =>
      caughtBy.includes(name),
    )
    const failures = await failuresOf(tests)
    expect([...failures.keys()].toSorted()).toEqual(caughtBy.toSorted())
  })

  it('notices: processes that share nothing', async () => {
    const module = new URL('./fixtures/private-memory.ts', import.meta.url)
    const tests = collectSuite({ name: 'planted', createStore: memoryStore, processes: { module } })
    const [test] = tests.filter(({ name }) => name.startsWith('processes > G1 G3'))
    await expect(test?.run()).rejects.toThrow(/held the key at once|Expected values to be strictly equal/u)
  })
})

function suite(createStore: () => Store, options: Partial<ConformanceOptions> = {}): CollectedTest[] {
  return collectSuite({ name: 'planted', createStore, patienceMs: 15_000, minLeaseMs: 100, ...options })
}
