import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import type { Answer, Store } from '../../src/store.ts'
import { SqliteProcess } from '../support/sqlite-process.ts'
import { acquire, askFor, grantOf } from '../support/asks.ts'
import {
  atEnd,
  databaseAt,
  freshPath,
  openStoreAt,
  processes,
  storeAt,
  until,
} from '../support/sqlite-stage.ts'

const UNAVAILABLE = (message: RegExp): object => ({
  name: 'LockError',
  code: 'STORE_UNAVAILABLE',
  message: expect.stringMatching(message),
})
const NOBODY = 65_534

function deleteFiles(path: string, endings = ['', '-wal', '-shm']): void {
  for (const ending of endings) rmSync(path + ending, { force: true })
}

async function held(store: Store): Promise<string[]> {
  const { locks } = await store.list({ limit: 100 })
  return locks.map((lock) => lock.key)
}

// Starting a process takes most of a second on a busy machine.
const PATIENT = { timeout: 60_000 }

describe('sqlite files that are deleted or replaced', () => {
  it.each([
    ['with its log', ['', '-wal', '-shm']],
    ['alone', ['']],
    ['with its log, but not the index of the log', ['', '-wal']],
  ])('G1 deleted %s: the holder learns that it lost, and one holder remains', PATIENT, async (_, endings) => {
    const path = freshPath()
    const [a, b] = [await openStoreAt(path), await openStoreAt(path)]
    const [other] = await processes(1)
    await other?.call('step', path, 'open')
    const first = askFor('key')
    await grantOf(a, first)
    deleteFiles(path, endings)
    const second = askFor('key')
    const [answer] = (await other?.call<Answer[]>('step', path, 'acquire', [second])) ?? []
    expect(answer).toMatchObject({ granted: true })
    expect(await acquire(b, askFor('key'))).toMatchObject({ granted: false })
    expect(await a.renew([{ ...first, leaseMs: 1000 }])).toEqual([{ renewed: false }])
    expect(await a.release([first])).toEqual([{ released: false, wanted: false }])
    expect(await other?.call('step', path, 'release', [second])).toEqual([{ released: true, wanted: true }])
    for (const store of [a, b]) expect(await held(store)).toEqual([])
  })

  it('G1 the file alone deleted while an idle process keeps it open', PATIENT, async () => {
    const path = freshPath()
    const [idle, busy] = await processes(2)
    for (const one of [idle, busy]) {
      // Enough to change every kind of page.
      const asks = Array.from({ length: 200 }, (_, n) => askFor(`${one === idle ? 'idle' : 'busy'}-${n}`))
      await one?.call('step', path, 'acquire', asks)
    }
    deleteFiles(path, [''])
    const [c, d] = [await openStoreAt(path), await openStoreAt(path)]
    for (let i = 0; i < 50; i += 1) {
      const ask = askFor('key')
      await grantOf(c, ask)
      expect(await acquire(d, askFor('key'))).toMatchObject({ granted: false })
      const [answer] = (await busy?.call<Answer[]>('step', path, 'acquire', [askFor('key')])) ?? []
      expect(answer).toMatchObject({ granted: false })
      await c.release([ask])
    }
    await idle?.call('step', path, 'acquire', [askFor('late')])
    expect(await held(c)).toEqual(['late'])
  })

  it('G1 replaced by another database: the locks of the new one count', async () => {
    const path = freshPath()
    const other = freshPath()
    const store = await openStoreAt(path)
    await grantOf(store, askFor('old'))
    await grantOf(await openStoreAt(other), askFor('new'))
    databaseAt(other).exec('pragma wal_checkpoint(truncate)')
    deleteFiles(path, ['-wal', '-shm'])
    renameSync(other, path)
    expect(await held(store)).toEqual(['new'])
    expect(await acquire(store, askFor('new'))).toMatchObject({ granted: false })
  })

  it('wakes a waiter whose key is free in the new file', async () => {
    const path = freshPath()
    const store = await openStoreAt(path)
    await grantOf(store, askFor('key'))
    await acquire(store, askFor('key'))
    const freed: string[] = []
    const watch = store.watch?.((key) => freed.push(key))
    watch?.add('key')
    deleteFiles(path)
    await until('a wake-up', () => freed.includes('key'))
    await grantOf(store, askFor('key'))
    await watch?.close()
  })

  it('survives its files being deleted over and over', PATIENT, async () => {
    const path = freshPath()
    const workers = await processes(3)
    const trouble: unknown[] = []
    const outcomes = workers.map(async (worker) => {
      for (let i = 0; i < 150; i += 1) {
        const ask = askFor('key', { owner: crypto.randomUUID() })
        try {
          const [answer] = await worker.call<Answer[]>('step', path, 'acquire', [ask])
          if (answer?.granted) await worker.call('step', path, 'release', [ask])
        } catch (error) {
          trouble.push(error)
        }
      }
    })
    let deletions = 0
    const deleting = setInterval(() => {
      deletions += 1
      deleteFiles(path, deletions % 2 === 0 ? [''] : ['', '-wal', '-shm'])
    }, 100)
    await Promise.all(outcomes).finally(() => clearInterval(deleting))
    // On a busy machine a file may be gone before it is even open, for as long as the store is patient.
    for (const error of trouble) expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    // Nobody was left with a file of its own.
    const store = await openStoreAt(path)
    await grantOf(store, askFor('last'))
    for (const worker of workers) {
      const [answer] = await worker.call<Answer[]>('step', path, 'acquire', [askFor('last')])
      expect(answer).toMatchObject({ granted: false })
    }
  })

  it('creates its table again if someone drops it', async () => {
    const path = freshPath()
    const store = await openStoreAt(path)
    await grantOf(store, askFor('key'))
    databaseAt(path).exec('drop table holdfast_locks')
    await expect(store.acquire([askFor('key')])).rejects.toMatchObject(UNAVAILABLE(/no such table/))
    await grantOf(store, askFor('key'))
  })

  it('says that the folder is gone, and works once it is back', async () => {
    const path = freshPath()
    const store = await openStoreAt(path)
    renameSync(dirname(path), `${dirname(path)}-moved`)
    atEnd(() => rmSync(`${dirname(path)}-moved`, { recursive: true, force: true }))
    await expect(store.acquire([askFor('key')])).rejects.toMatchObject(
      UNAVAILABLE(/does not exist; create it/),
    )
    renameSync(`${dirname(path)}-moved`, dirname(path))
    await grantOf(store, askFor('key'))
  })
})

describe('sqlite files that cannot be used', () => {
  // Root may write anywhere, so the user is another one then.
  const asNobody = async (): Promise<SqliteProcess> => {
    const one = await SqliteProcess.start(process.getuid?.() === 0 ? NOBODY : undefined)
    atEnd(() => one.end())
    return one
  }

  /** A database without a log beside it, that someone else may come to. */
  const plainDatabase = (): string => {
    const path = freshPath()
    const db = databaseAt(path)
    db.exec('create table other (x); insert into other values (zeroblob(20000))')
    db.close()
    chmodSync(dirname(path), 0o777)
    return path
  }

  it.skipIf(process.platform === 'win32')('says that the file is read-only', PATIENT, async () => {
    const path = plainDatabase()
    chmodSync(path, 0o444)
    const other = await asNobody()
    await expect(other.call('step', path, 'open')).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/read-only; let this user write/),
    })
    chmodSync(path, 0o666)
    await other.call('step', path, 'acquire', [askFor('key')])
  })

  it.skipIf(process.platform === 'win32')('says that the folder is read-only', PATIENT, async () => {
    const path = plainDatabase()
    chmodSync(path, 0o666)
    chmodSync(dirname(path), 0o555)
    atEnd(() => chmodSync(dirname(path), 0o777))
    const other = await asNobody()
    for (const at of [path, `${path}-new`]) {
      await expect(other.call('step', at, 'open')).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/let this user write|where this user may write/),
      })
    }
    chmodSync(dirname(path), 0o777)
    await other.call('step', path, 'acquire', [askFor('key')])
  })

  it('says that the disk is full, and goes on once there is room', async () => {
    const db = databaseAt(freshPath())
    const store = await openStoreAt(db)
    const { page_count: pages } = db.prepare('pragma page_count').get() as { page_count: number }
    db.exec(`pragma max_page_count = ${pages}`)
    const asks = Array.from({ length: 200 }, (_, n) => askFor(`key-${n}`))
    await expect(store.acquire(asks)).rejects.toMatchObject(UNAVAILABLE(/disk is full/))
    expect(await held(store)).toEqual([])
    db.exec('pragma max_page_count = 10000')
    expect(await store.acquire(asks)).toHaveLength(200)
  })

  it('says that the file is damaged', async () => {
    const path = plainDatabase()
    const file = readFileSync(path)
    writeFileSync(path, file.fill(0x55, 100, 4096))
    await expect(storeAt(path).open()).rejects.toMatchObject(UNAVAILABLE(/damaged; stop all processes/))
  })

  it('G12 leaves no file open after a failure or a close', async () => {
    const path = freshPath()
    writeFileSync(path, 'x'.repeat(5000))
    const store = storeAt(path)
    for (let i = 0; i < 5; i += 1)
      await expect(store.open()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    // Not even until the next garbage collection, or a process that tries on would run out of files.
    expect(openFiles(path)).toBe(0)
    rmSync(path)
    for (let i = 0; i < 5; i += 1) {
      const other = await openStoreAt(path)
      await grantOf(other, askFor(`key-${i}`))
      other.watch?.(() => undefined).add('key')
      await other.close()
    }
    // libsql closes a file with the last statement, and a statement when it is collected.
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    await until('all files closed', () => (collect(), openFiles(path) === 0))
    expect(readdirSync(dirname(path))).toEqual(['locks.db'])
  })
})

function openFiles(path: string): number {
  const folder = '/proc/self/fd'
  if (!existsSync(folder)) return 0
  const targets = readdirSync(folder).map((fd) => {
    try {
      return readlinkSync(join(folder, fd))
    } catch {
      return ''
    }
  })
  return targets.filter((target) => target.startsWith(path)).length
}
