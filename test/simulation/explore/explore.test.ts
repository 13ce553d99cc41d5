import { describe, expect, it } from 'vitest'
import { LEASE_BUGS } from '../../mutants/core/leases.ts'
import type { Case } from './case.ts'
import { exploreSources } from './sources.ts'

/** `npm run explore` goes further. */
const SMALL: Case = { processes: 2, keys: 1, faults: 1, push: true }

const TIME_LIMIT_MS = 300_000

describe('exploration', { timeout: TIME_LIMIT_MS }, () => {
  it('G1–G12 hold in whatever can happen to two processes, one key and one fault', async () => {
    const { failure, complete, states } = await exploreSources(SMALL)
    expect(failure).toBeNull()
    expect(complete).toBe(true)
    // A case in which nothing can happen proves nothing.
    expect(states[0]).toBeGreaterThan(50)
    expect(states[1]).toBeGreaterThan(2000)
  })

  it.each([
    ['the deadline counts from the reply instead of the send', 1],
    ['no margin: the deadline is the whole lease', 0],
  ])('finds, with as few faults as it takes: %s', async (bug, faults) => {
    const changes = LEASE_BUGS.find((each) => each.bug === bug)?.changes
    const { failure } = await exploreSources(SMALL, { changes })
    expect(failure?.faults).toBe(faults)
  })
})
