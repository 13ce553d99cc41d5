import { type ConformanceOptions, storeConformance } from '../../src/testing/index.ts'

export interface CollectedTest {
  /** `topic > test`, without the name of the store. */
  readonly name: string
  readonly run: () => Promise<void>
}

/** The suite as a list, for a runner of our own. */
export function collectSuite(options: ConformanceOptions): CollectedTest[] {
  const path: string[] = []
  const tests: CollectedTest[] = []
  storeConformance(
    {
      describe(name, define) {
        path.push(name)
        define()
        path.pop()
      },
      it(name, run) {
        tests.push({ name: [...path.slice(1), name].join(' > '), run })
      },
    },
    options,
  )
  return tests
}

/** The names of the tests that fail, with why. */
export async function failuresOf(tests: readonly CollectedTest[]): Promise<Map<string, unknown>> {
  const failures = new Map<string, unknown>()
  for (const { name, run } of tests) {
    try {
      await run()
    } catch (error) {
      failures.set(name, error)
    }
  }
  return failures
}
