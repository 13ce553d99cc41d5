import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { checkKey, MAX_KEY_BYTES } from '../../src/key.ts'
import type { Store } from '../../src/store.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { HOSTILE_TEXTS, hostileKeys } from '../../src/testing/hostile-keys.ts'
import { storeConformance } from '../../src/testing/index.ts'
import { collectSuite, failuresOf } from './collected-suite.ts'

describe('the conformance suite', () => {
  it('runs under node:test', async () => {
    const fixture = fileURLToPath(new URL('./fixtures/under-node-test.ts', import.meta.url))
    const { code, output } = await run('--import', 'tsx', '--test', '--test-reporter=tap', fixture)
    expect(output).toContain('# fail 0')
    expect(output).toContain(`# pass ${collectSuite({ name: 'memory', createStore: memoryStore }).length}`)
    expect(code).toBe(0)
  })

  it('gives every runner functions without parameters, which jest and node:test take for callbacks', () => {
    const lengths: number[] = []
    storeConformance(
      {
        describe: (_name, define) => define(),
        it: (_name, body, timeoutMs) => lengths.push(body.length, timeoutMs > 5_000 ? 0 : timeoutMs),
      },
      { name: 'memory', createStore: memoryStore },
    )
    expect(new Set(lengths)).toEqual(new Set([0]))
  })

  it('uses keys that core would let through, no two the same, some as long as can be', () => {
    const keys = hostileKeys('some-prefix:')
    expect(keys.map(checkKey)).toEqual([...new Set(keys)])
    expect(keys.map((key) => Buffer.byteLength(key)).filter((bytes) => bytes === MAX_KEY_BYTES)).toHaveLength(
      4,
    )
    for (const text of HOSTILE_TEXTS) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4096)
  })

  it('has no two tests of one name', () => {
    const names = collectSuite({ name: 'memory', createStore: memoryStore }).map(({ name }) => name)
    expect(names.toSorted()).toEqual([...new Set(names)].toSorted())
  })

  it('fails if the store has push and the options deny it, or the other way round', async () => {
    const pushing = memoryStore()
    const polling: Store = { name: 'polling', ...stepsOf(pushing) }
    const denied = collectSuite({ name: 'memory', createStore: () => pushing, push: false })
    const claimed = collectSuite({ name: 'memory', createStore: () => polling })
    const wrong = [...denied, ...claimed].filter(({ name }) =>
      /^watch > (has no watch|wakes for a wanted)/u.test(name),
    )
    const failures = await failuresOf(wrong)
    expect([...failures.values()].map(String)).toEqual([
      expect.stringContaining('leave out `push: false`'),
      expect.stringContaining('say `push: false`'),
      expect.stringContaining('say `push: false`'),
    ])
  })

  it('refuses a prefix that leaves no room for long keys', () => {
    const keyPrefix = 'x'.repeat(65)
    const options = { name: 'memory', createStore: memoryStore, keyPrefix }
    expect(() => storeConformance({ describe, it }, options)).toThrow(RangeError)
  })
})

/** The steps of a store without its watch. */
function stepsOf(store: Store): Omit<Store, 'name' | 'watch'> {
  return {
    open: () => store.open(),
    acquire: (asks) => store.acquire(asks),
    renew: (renewals) => store.renew(renewals),
    release: (claims) => store.release(claims),
    list: (query) => store.list(query),
    evict: (key, grant) => store.evict(key, grant),
    close: () => store.close(),
  }
}

async function run(...args: string[]): Promise<{ code: number | null; output: string }> {
  // The variable tells a test file that it runs inside node:test; the child must not believe so.
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (text: string) => (output += text))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return { code, output }
}
