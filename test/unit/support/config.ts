import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect } from 'vitest'
import { type ConfigOptions, locksFromConfig } from '../../../src/config/index.ts'
import type { Locks } from '../../../src/locks.ts'

/** Of the test file that imports this. */
export const folder: string = mkdtempSync(join(tmpdir(), 'holdfast-config-'))
export const open: Locks[] = []

afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(async () => {
  for (const locks of open.splice(0)) await locks.close()
})

export function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

export async function start(options: ConfigOptions): Promise<Locks> {
  const locks = await locksFromConfig({ env: {}, logger: null, ...options })
  open.push(locks)
  return locks
}

export async function* once(value: unknown): AsyncGenerator {
  yield value
}

export async function refusal(options: ConfigOptions): Promise<string> {
  try {
    await start(options)
  } catch (error) {
    expect(error).toMatchObject({ name: 'LockError', code: 'INVALID_OPTION' })
    return (error as Error).message
  }
  throw new Error('it was accepted')
}

interface Seen {
  readonly leaseMs: number
  readonly service: string
  readonly instance: string
}

/** What the client does, as others see it. */
export async function seen(locks: Locks, key = 'key'): Promise<Seen> {
  const lease = await locks.acquire(key)
  const record = await locks.inspect(key)
  await lease.release()
  return { leaseMs: record!.leaseMs, service: record!.holder.service, instance: record!.holder.instance }
}
