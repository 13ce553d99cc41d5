import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assertRising } from './claims.ts'
import type { Files } from './child.ts'
import { Worker } from './processes.ts'
import type { Stage, Test } from './stage.ts'
import { heldKeys } from './steps-list.ts'
import { now } from './timing.ts'

const PROCESSES = 3
const TASKS = 3
const ROUNDS = 8

// Starting a process with a TypeScript loader takes seconds on a busy machine.
const LIMIT_MS = 60_000

/** The guarantees between real processes, which can be killed and stopped. */
export function processGuarantees(test: Test): void {
  test(
    'G1 G3 processes never overlap, lose no update, and their tokens rise',
    async (stage) => {
      const files = await sharedFiles(stage)
      const workers = await Promise.all(Array.from({ length: PROCESSES }, () => Worker.start(stage)))
      const order = { do: 'count', key: stage.key(), tasks: TASKS, rounds: ROUNDS, ...files } as const
      await Promise.all(workers.map((worker) => worker.tell(order)))
      assert.equal(Number(await readFile(files.counter, 'utf8')), PROCESSES * TASKS * ROUNDS)
      assertAlternates(await readFile(files.log, 'utf8'))
    },
    LIMIT_MS,
  )

  test(
    'G3 the key of a killed process passes on after its lease, with a higher token',
    async (stage) => {
      const leaseMs = Math.max(1_000, stage.settings.shortMs)
      const worker = await Worker.start(stage)
      const locks = await stage.locks()
      const sent = now()
      const before = await worker.acquire(stage.key(), { leaseMs, renew: false })
      await worker.kill('SIGKILL')
      const lease = await locks.acquire(stage.key())
      const tookMs = now() - sent
      assert.ok(tookMs >= leaseMs - stage.settings.toleranceMs, `passed on after ${tookMs} of ${leaseMs} ms`)
      assertRising([before, lease.token], 'tokens over a crash')
      assert.equal(await lease.release(), true)
    },
    LIMIT_MS,
  )

  // Windows has no way to stop a process and let it go on.
  if (process.platform !== 'win32') {
    test(
      'G4 a process that was stopped past its lease cannot hurt its successor',
      async (stage) => {
        const worker = await Worker.start(stage)
        const locks = await stage.locks()
        const before = await worker.acquire(stage.key(), { leaseMs: Math.max(1_000, stage.settings.shortMs) })
        worker.signal('SIGSTOP')
        const successor = await locks.acquire(stage.key())
        worker.signal('SIGCONT')
        assert.equal((await worker.tell({ do: 'release', key: stage.key() })).released, false)
        assertRising([before, successor.token], 'tokens over a take-over')
        await successor.extend()
        assert.equal(await (await stage.locks()).tryAcquire(stage.key()), null)
        assert.equal(await successor.release(), true)
      },
      LIMIT_MS,
    )
  }

  test(
    'G8 a release in one process lets a waiter of another in, long before the lease ends',
    async (stage) => {
      const worker = await Worker.start(stage)
      const locks = await stage.locks()
      for (let round = 0; round < 3; round += 1) {
        const before = await worker.acquire(stage.key())
        const waiting = locks.acquire(stage.key())
        await stage.until('somebody to be denied', async () => (await locks.inspect(stage.key()))?.wanted)
        assert.equal((await worker.tell({ do: 'release', key: stage.key() })).released, true)
        const lease = await waiting
        assertRising([before, lease.token], 'tokens over a release')
        await lease.release()
      }
    },
    LIMIT_MS,
  )

  test(
    'G12 a process that closed its locks ends by itself, and holds nothing',
    async (stage) => {
      const worker = await Worker.start(stage)
      const store = await stage.client()
      const theirs = await (await stage.locks()).acquire(stage.key('theirs'))
      await worker.acquire(stage.key('mine'))
      // Leaves a waiter, its poll and its watch to be ended.
      const waiting = worker.tell({ do: 'acquire', key: stage.key('theirs') })
      const refused = assert.rejects(waiting, /CLOSED|closed/u)
      await stage.until('the process to wait', async () => {
        return (await store.list({ key: stage.key('theirs'), limit: 1 })).locks[0]?.wanted
      })
      await worker.tell({ do: 'close' })
      await refused
      assert.equal(await worker.ended, 0)
      assert.deepEqual(await heldKeys(stage, store), [stage.key('theirs')])
      assert.equal(await theirs.release(), true)
    },
    LIMIT_MS,
  )
}

async function sharedFiles(stage: Stage): Promise<Files> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-conformance-'))
  stage.atEnd(() => rm(folder, { recursive: true, force: true }))
  const files = { counter: join(folder, 'counter'), log: join(folder, 'log') }
  await writeFile(files.counter, '0')
  await writeFile(files.log, '')
  return files
}

/** Each line `in n` must be followed by its own `out n`, and the tokens must rise. */
function assertAlternates(log: string): void {
  const lines = log.trimEnd().split('\n')
  const tokens: bigint[] = []
  for (let index = 0; index < lines.length; index += 2) {
    const token = /^in (\d+)$/u.exec(lines[index] ?? '')?.[1]
    assert.ok(token !== undefined, `line ${index + 1} of the log is "${lines[index]}"`)
    assert.equal(lines[index + 1], `out ${token}`, 'two processes held the key at once')
    tokens.push(BigInt(token))
  }
  assertRising(tokens, 'tokens in the order of holding')
}
