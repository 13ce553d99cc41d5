import { execFile } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Answer } from '../../src/store.ts'
import { acquire, askFor, grantOf } from '../support/asks.ts'
import { freshFolder, freshPath, openStoreAt, processes, until } from '../support/sqlite-stage.ts'

// Starting a process takes most of a second on a busy machine.
const PATIENT = { timeout: 120_000 }

describe('sqlite across processes', () => {
  it('opens an absent file in 20 processes at once', PATIENT, async () => {
    const all = await processes(20)
    for (let round = 0; round < 3; round += 1) {
      const path = freshPath()
      await Promise.all(all.map((one) => one.call('step', path, 'open')))
      const answers = await Promise.all(
        all.map((one, i) =>
          one.call<Answer[]>('step', path, 'acquire', [
            askFor('key', { owner: `owner-${i}` }),
            askFor(`own-${i}`),
          ]),
        ),
      )
      expect(answers.filter(([shared]) => shared?.granted)).toHaveLength(1)
      expect(answers.every(([, own]) => own?.granted)).toBe(true)
    }
  })

  it('G1 never lets two processes in at once, G3 with tokens that rise', PATIENT, async () => {
    const folder = freshFolder()
    const counter = join(folder, 'counter')
    writeFileSync(counter, '0')
    const [count, times] = [4, 100]
    const all = await processes(count)
    await Promise.all(all.map((one) => one.call('count', join(folder, 'locks.db'), counter, times)))
    expect(Number(readFileSync(counter, 'utf8'))).toBe(count * times)
    const grants = readFileSync(`${counter}.grants`, 'utf8').trim().split('\n').map(Number)
    expect(grants).toHaveLength(count * times)
    expect(grants).toEqual([...new Set(grants)].sort((a, b) => a - b))
  })

  it.skipIf(process.getBuiltinModule?.('node:sqlite'))(
    'says what to install where there is no driver',
    async () => {
      // A copy outside of this folder finds no node_modules.
      const folder = freshFolder()
      const source = fileURLToPath(new URL('../../src', import.meta.url))
      const core = ['duration.ts', 'environment.ts', 'errors.ts', 'option-check.ts', 'store.ts']
      for (const part of [...core, 'databases', 'stores/sqlite']) {
        cpSync(join(source, part), join(folder, part), { recursive: true })
      }
      writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
      writeFileSync(
        join(folder, 'main.ts'),
        `import { sqliteStore } from './stores/sqlite/index.ts'
      await sqliteStore('locks.db').open().catch((error) => console.log(error.code, error.message))`,
      )
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ['--import', import.meta.resolve('tsx'), 'main.ts'],
        { cwd: folder },
      )
      expect(stdout).toMatch(/^INVALID_OPTION .*npm install libsql.*Node 22\.13/)
    },
    60_000,
  )

  it('takes over from a process that was killed, and says from whom', PATIENT, async () => {
    const path = freshPath()
    const [doomed] = await processes(1)
    const holder = { service: 'doomed', instance: 'one', context: null }
    await doomed?.call('step', path, 'acquire', [askFor('key', { leaseMs: 300, holder })])
    await doomed?.end()
    const store = await openStoreAt(path)
    let answer: Answer | undefined
    await until('the lease to run out', async () => {
      answer = await acquire(store, askFor('key'))
      return answer.granted
    })
    expect(answer).toMatchObject({ previous: holder })
  })

  it('G8 is woken by a release in another process, far sooner than by any poll', PATIENT, async () => {
    const path = freshPath()
    const [other] = await processes(1)
    const store = await openStoreAt(path)
    let woken: (() => void) | undefined
    const watch = store.watch?.(() => woken?.())
    watch?.add('key')
    const latencies: number[] = []
    for (let i = 0; i < 30; i += 1) {
      const ask = askFor('key')
      await other?.call('step', path, 'acquire', [ask])
      expect(await acquire(store, askFor('key'))).toMatchObject({ granted: false })
      const wake = new Promise<number>((resolve) => (woken = () => resolve(performance.now())))
      // The reply comes after the change is made, so the wake-up may even be earlier.
      await other?.call('step', path, 'release', [ask])
      const replied = performance.now()
      latencies.push((await wake) - replied)
    }
    await watch?.close()
    latencies.sort((a, b) => a - b)
    // A quarter of them, as both processes have to get a processor at once. The poll of the store would take 6 ms there.
    expect(latencies[7]).toBeLessThan(4)
  })

  it('G8 is woken at once by a release through the same store', async () => {
    const store = await openStoreAt(freshPath())
    const freed: string[] = []
    const watch = store.watch?.((key) => freed.push(key))
    watch?.add('key')
    const ask = askFor('key')
    await grantOf(store, ask)
    await acquire(store, askFor('key'))
    freed.length = 0
    await store.release([ask])
    expect(freed).toEqual(['key'])
    await grantOf(store, askFor('key'))
    await acquire(store, askFor('key'))
    freed.length = 0
    await store.evict('key')
    expect(freed).toEqual(['key'])
    await watch?.close()
  })

  it('wakes for a key that became free between its denial and the watch', async () => {
    const path = freshPath()
    const [store, other] = [await openStoreAt(path), await openStoreAt(path)]
    const freed: string[] = []
    const watch = store.watch?.((key) => freed.push(key))
    const [early, marker] = [askFor('early'), askFor('marker')]
    await other.acquire([early, marker])
    await store.acquire([askFor('early'), askFor('marker')])
    watch?.add('marker')
    await other.release([early])
    await other.release([marker])
    // By then the store has seen both changes, and there are no more to come.
    await until('a wake-up', () => freed.includes('marker'))
    watch?.add('early')
    await until('a wake-up', () => freed.includes('early'))
    await watch?.close()
  })

  it('does not wake a waiter for what concerns other keys', async () => {
    const path = freshPath()
    const [store, other] = [await openStoreAt(path), await openStoreAt(path)]
    await grantOf(other, askFor('key'))
    await acquire(store, askFor('key'))
    const freed: string[] = []
    const watch = store.watch?.((key) => freed.push(key))
    for (const key of ['key', 'last']) watch?.add(key)
    await grantOf(other, askFor('last'))
    freed.length = 0
    for (let i = 0; i < 50; i += 1) {
      const ask = askFor(`other-${i}`)
      await grantOf(other, ask)
      await other.release([ask])
    }
    await other.evict('last')
    await until('a wake-up', () => freed.includes('last'))
    expect(freed).not.toContain('key')
    await watch?.close()
  })
})
