import { describe, expect, it } from 'vitest'
import { BUGS, CASES } from '../model/cases.ts'
import { check } from '../model/spin.ts'

describe('the model of the lock', () => {
  it.each(CASES.filter(({ defines }) => defines['FAULTS'] === 0 && !defines['WRITES']))(
    'G1 G2 G3 G4 hold in every order of steps: $title',
    async ({ defines, states }) => {
      expect(await check(defines)).toMatchObject({ violation: null, states })
    },
  )

  it.each(BUGS)('finds this: $title', async ({ defines }) => {
    expect((await check(defines)).violation).toMatch('assertion violated')
  })
})
