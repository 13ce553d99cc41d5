import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createLocks, type Locks } from '../../src/locks.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { runStatement } from '../servers/postgres-statement.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { freshPrefix } from '../servers/shared-redis.ts'
import { bundled } from '../support/bundled.ts'
import { atLast } from '../support/stage.ts'

const CLI = await bundled(fileURLToPath(new URL('../../src/cli/index.ts', import.meta.url)))
const folder = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))
atLast(() => rmSync(folder, { recursive: true, force: true }))

interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly out: string
  readonly err: string
}

type Env = Readonly<Record<string, string>>

function start(file: string, args: readonly string[], env: Env = {}): ChildProcess {
  const { PATH = '' } = process.env
  return spawn(file, args, {
    cwd: folder,
    env: { PATH, TERM: 'xterm', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function end(child: ChildProcess): Promise<Ended> {
  const [[code, signal], out, err] = await Promise.all([
    once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>,
    text(child.stdout!),
    text(child.stderr!),
  ])
  return { code, signal, out, err }
}

const holdfast = (args: readonly string[], env?: Env): Promise<Ended> =>
  end(start(process.execPath, [CLI, ...args], env))

/** Held by this process, in a store of the test's own. */
async function held(url: string, keys: readonly string[]): Promise<Locks> {
  const locks = createLocks(url, { logger: null, service: 'shop' })
  atLast(() => locks.close())
  await locks.acquire(keys, { lease: '5m' })
  return locks
}

const fileOf = (name: string): string => `sqlite:${join(folder, name)}`

describe.concurrent('the program', () => {
  it('ends without a word when its reader has gone', async () => {
    const url = fileOf('pipe.db')
    await held(
      url,
      Array.from({ length: 1000 }, (_, index) => `${'k'.repeat(150)}${index}`),
    )
    const line = '"$1" "$2" list | head -n 1; echo "${PIPESTATUS[0]}"'
    const { out, err } = await end(
      start('bash', ['-c', line, 'bash', process.execPath, CLI], { HOLDFAST_STORE: url }),
    )
    expect([out.split('\n').slice(1), err]).toEqual([['141', ''], ''])
  })

  it('has colours on a terminal, and none with NO_COLOR or in a pipe', async () => {
    const url = fileOf('colour.db')
    await held(url, ['a'])
    const command = `"${process.execPath}" "${CLI}" list --store "${url}"`
    const onTerminal = (env?: Env): Promise<Ended> =>
      end(start('script', ['-qec', command, '/dev/null'], env))
    const [plain, coloured, without] = await Promise.all([
      holdfast(['list', '--store', url]),
      onTerminal(),
      onTerminal({ NO_COLOR: '1' }),
    ])
    expect(plain.out).not.toContain('\u{1b}')
    expect(coloured.out).toContain('\u{1b}[1mKEY')
    expect(without.out).toContain('KEY')
    expect(without.out).not.toContain('\u{1b}')
  })

  it('watches until it is interrupted, and tells each change', async () => {
    const url = fileOf('watch.db')
    const locks = await held(url, ['first'])
    const child = start(process.execPath, [CLI, 'list', '--watch', '--json', '--store', url])
    const closed = once(child, 'close')
    const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
    const next = async (): Promise<unknown> => JSON.parse((await lines.next()).value as string)
    expect(await next()).toMatchObject({ change: 'held', key: 'first', service: 'shop' })
    await locks.acquire('second')
    expect(await next()).toMatchObject({ change: 'held', key: 'second', service: 'shop' })
    child.kill('SIGINT')
    expect(await closed).toEqual([null, 'SIGINT'])
  })

  it('takes the grant that it has shown from its holder, on Redis', async () => {
    const { url, prefix } = freshPrefix()
    const locks = createLocks(redisStore(url, { prefix }), { logger: null })
    atLast(() => locks.close())
    const lease = await locks.acquire('job', { lease: '30s' })
    const env = { HOLDFAST_STORE: url, HOLDFAST_PREFIX: prefix }
    const { out } = await holdfast(['inspect', 'job', '--json'], env)
    const { grant, token } = JSON.parse(out)
    expect(token).toBe(String(lease.token))
    expect(await holdfast(['release', 'job', '--force', '--grant', String(grant - 1)], env)).toMatchObject({
      code: 1,
    })
    expect(await holdfast(['release', 'job', '--force', '--grant', String(grant)], env)).toMatchObject({
      code: 0,
    })
    await expect(lease.extend()).rejects.toMatchObject({ code: 'LOCK_LOST' })
  })
})

describe.concurrent('doctor', () => {
  it('is content with Redis and leaves no key, and warns if push is off', async () => {
    const { url, prefix } = freshPrefix()
    const env = { HOLDFAST_STORE: url, HOLDFAST_PREFIX: prefix }
    const [well, polls] = await Promise.all([
      holdfast(['doctor'], env),
      holdfast(['doctor'], { ...env, HOLDFAST_PUSH: 'false' }),
    ])
    expect([well.code, well.err, polls.code]).toEqual([0, '', 0])
    expect(well.out).toMatch(/^ok +push/m)
    expect(polls.out).toMatch(/^warning +push/m)
    expect(await holdfast(['list', '--json'], env)).toMatchObject({ code: 0, out: '[]\n' })
  })

  it('says to an account without rights what PostgreSQL refuses, and is content after `schema` and a grant', async () => {
    const database = await freshDatabase()
    const role = `doctor_${new URL(database).pathname.slice(-8)}`
    await runStatement(database, `create role ${role} login password 'p-a-s-s'`)
    const url = new URL(database)
    url.username = role
    url.password = 'p-a-s-s'
    const env = { HOLDFAST_STORE: url.href }
    try {
      const refused = await holdfast(['doctor'], env)
      expect(refused.code).toBe(1)
      expect(refused.out).toMatch(/^failed +store +.*(permission|right)/m)
      expect(refused.out).not.toContain('p-a-s-s')
      const { out: sql } = await holdfast(['schema'], env)
      await runStatement(
        database,
        `${sql}; grant select, insert, update, delete on holdfast_locks to ${role}`,
      )
      expect(await holdfast(['doctor'], env)).toMatchObject({ code: 0, err: '' })
    } finally {
      await runStatement(database, `drop owned by ${role}; drop role ${role}`)
    }
  })
})
