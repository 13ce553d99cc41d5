import { describe, expect, it } from 'vitest'
import { type Enclosing, innermost } from '../../src/enclosing.ts'
import { createLocks } from '../../src/locks.ts'
import { enclosingLease } from '../../src/section.ts'
import { memoryStore } from '../../src/stores/memory.ts'

interface Each extends Enclosing<Each> {
  readonly name: string
  over: boolean
}

function chain(...names: string[]): Each | undefined {
  return names.reduceRight<Each | undefined>(
    (outer, name) => ({ name: name.replace('-', ''), over: name.startsWith('-'), outer }),
    undefined,
  )
}

function namesIn(from: Each | undefined): string[] {
  const names: string[] = []
  for (let each = from; each; each = each.outer) names.push(each.name)
  return names
}

describe('what running code is inside of', () => {
  it('leaves out what is over, wherever it is', () => {
    for (const [names, rest] of [
      [[], []],
      [['a'], ['a']],
      [['-a'], []],
      [
        ['-a', 'b', '-c', '-d', 'e', '-f'],
        ['b', 'e'],
      ],
      [
        ['a', 'b', '-c'],
        ['a', 'b'],
      ],
    ] as const) {
      const from = chain(...names)
      expect(namesIn(innermost(from, ({ over }) => over))).toEqual(rest)
    }
  })

  it.each(['after the body', 'while it runs'])(
    'a job that starts the next one %s keeps none of those before',
    async (when) => {
      const locks = createLocks(memoryStore(), { logger: null })
      const depths: number[] = []
      const asked = { partOn: 0 }
      const job = (left: number, done: () => void): Promise<void> =>
        locks.using(`job ${left}`, async (lease) => {
          // Counts the sections that are looked at.
          const { partOn } = lease as unknown as { partOn(key: string): unknown }
          Object.assign(lease, { partOn: (key: string) => ((asked.partOn += 1), partOn.call(lease, key)) })
          asked.partOn = 0
          enclosingLease(locks, 'none')
          depths.push(asked.partOn)
          if (left === 0) done()
          else if (when === 'while it runs') void job(left - 1, done)
          else setImmediate(() => void job(left - 1, done))
        })
      await new Promise<void>((resolve) => void job(50, resolve))
      expect(depths).toHaveLength(51)
      expect(Math.max(...depths)).toBeLessThanOrEqual(2)
      await locks.close()
    },
  )
})
