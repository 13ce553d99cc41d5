import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { locksFromConfig } from '../../src/config/index.ts'
import type { Locks } from '../../src/locks.ts'

/** Far less than the poll, which would find a change as well. */
const SOON = { timeout: 3000, interval: 20 }

let folder: string
let locks: Locks | undefined
let errors: string[]

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-config-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(() => locks?.close())

async function start(file: string): Promise<Locks> {
  locks = await locksFromConfig({ file, env: { HOLDFAST_STORE: 'memory:' }, logger: null })
  errors = []
  locks.on('error', ({ error }) => errors.push(error.message))
  return locks
}

async function leaseOf(key: string): Promise<number | undefined> {
  const lease = await locks!.acquire(key)
  const record = await locks!.inspect(key)
  await lease.release()
  return record?.leaseMs
}

const changes: readonly [string, (path: string, text: string) => void][] = [
  ['written over', (path, text) => writeFileSync(path, text)],
  [
    'replaced by another, as editors do',
    (path, text) => {
      writeFileSync(`${path}.new`, text)
      renameSync(`${path}.new`, path)
    },
  ],
]

it.each(changes)('a file that is %s counts at once, and a lease goes on', async (_, change) => {
  const path = join(folder, 'app.yaml')
  writeFileSync(path, 'lease: 10s\n')
  const held = await (await start(path)).acquire('held')
  change(path, 'lease: 20s\nkeys: { "report:*": { lease: 10m } }\n')
  await vi.waitFor(async () => expect(await leaseOf('a')).toBe(20_000), SOON)
  expect(await leaseOf('report:1')).toBe(600_000)
  expect(held.held).toBe(true)
  change(path, 'lease: soon\n')
  await vi.waitFor(() => expect(errors).toHaveLength(1), SOON)
  expect(errors[0]).toMatch(/app\.yaml: lease: give .*; the last valid settings stay in force$/)
  expect(await leaseOf('b')).toBe(20_000)
  expect(await held.release()).toBe(true)
})

it('a ConfigMap of Kubernetes counts at once when its link is exchanged', async () => {
  const mount = join(folder, 'mount')
  const publish = (version: string, text: string): void => {
    mkdirSync(join(mount, version), { recursive: true })
    writeFileSync(join(mount, version, 'holdfast.config.yaml'), text)
    symlinkSync(version, join(mount, '..data_tmp'))
    renameSync(join(mount, '..data_tmp'), join(mount, '..data'))
  }
  publish('..2026_1', 'lease: 10s\n')
  symlinkSync(join('..data', 'holdfast.config.yaml'), join(mount, 'holdfast.config.yaml'))
  await start(join(mount, 'holdfast.config.yaml'))
  for (const seconds of [20, 30]) {
    publish(`..2026_${seconds}`, `lease: ${seconds}s\n`)
    await vi.waitFor(async () => expect(await leaseOf('a')).toBe(seconds * 1000), SOON)
  }
  expect(errors).toEqual([])
})

it('a process that watches its configuration ends when it has nothing else to do', async () => {
  const path = join(folder, 'short.json')
  writeFileSync(path, '{"store":"memory:"}')
  const module = resolve(import.meta.dirname, '../../src/config/index.ts')
  const script = `import { locksFromConfig } from ${JSON.stringify(module)}
    const locks = await locksFromConfig({ file: ${JSON.stringify(path)} })
    console.log(await locks.using('a', () => 'ran'))`
  const args = ['--import', 'tsx', '--input-type=module', '-e', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 20_000 })
  expect(stdout).toBe('ran\n')
})
