import { describe, expect, it } from 'vitest'
import { optionsOf, WrongOption } from '../torture/options.ts'

function wrong(...args: string[]): string {
  try {
    optionsOf(args)
  } catch (error) {
    if (error instanceof WrongOption) return error.message
    throw error
  }
  throw new Error('was accepted')
}

describe('the options of the torture', () => {
  it('have defaults, and a rate by the number of stores', () => {
    expect(optionsOf([])).toMatchObject({
      store: 'all',
      minutes: 2,
      round: 2,
      seed: 1,
      workers: 20,
      rate: 30,
    })
    expect(optionsOf(['--store', 'redis', '--minutes', '0.1', '--round', '0.5'])).toMatchObject({
      ...{ store: 'redis', minutes: 0.1, round: 0.5, rate: 80 },
    })
    expect(optionsOf(['--help'])).toBeNull()
  })

  it('are refused in one line that says what is wrong', () => {
    expect(wrong('--sotre', 'redis')).toBe("Unknown option '--sotre'")
    expect(wrong('redis')).toMatch(/^Unexpected argument 'redis'/)
    expect(wrong('--store')).toBe("Option '--store <value>' argument missing")
    expect(wrong('--store', '--seed', '1')).toMatch(/^Option '--store' argument is ambiguous/)
    expect(wrong('--store', 'foo')).toMatch(/^--store: "foo" is none of sqlite, .* and all$/)
    expect(wrong('--workers', '2.5')).toBe('--workers: give a whole number, not "2.5"')
    expect(wrong('--seed', '0')).toBe('--seed: give a number above 0, not "0"')
    expect(wrong('--rate', 'many')).toBe('--rate: give a number above 0, not "many"')
    expect(wrong('--minutes', 'Infinity')).toMatch(/^--minutes: /)
    for (const name of ['--minutes', '--round'])
      expect(wrong(name, '0.01')).toBe(`${name}: 0.01 is too short for a round; give 0.09 at least`)
    for (const args of [['--sotre'], ['redis'], ['--store', '--seed']])
      expect(wrong(...args)).not.toMatch(/\n/)
  })
})
