import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'

/**
 * The linter's rules hold only as long as its configuration means what we think: a pattern that it does
 * not understand matches nothing, silently. So each rule that we rely on is broken here once.
 */
const root = resolve(import.meta.dirname, '..', '..')
const NO_IMPORT = 'eslint(no-restricted-imports)'

const breaches: readonly (readonly [rule: string, file: string, source: string])[] = [
  [NO_IMPORT, 'src/core-imports-package.ts', `export { default } from 'libsql'`],
  [NO_IMPORT, 'src/core-imports-package-type.ts', `export type { Database } from 'libsql'`],
  [NO_IMPORT, 'src/core-imports-bare-builtin.ts', `export { readFile } from 'fs/promises'`],
  [NO_IMPORT, 'src/core-imports-store.ts', `export { memoryStore } from './stores/memory.ts'`],
  [
    NO_IMPORT,
    'src/core-loads-store.ts',
    `export const store = (): Promise<unknown> => import('./stores/memory.ts')`,
  ],
  [NO_IMPORT, 'src/core-imports-server.ts', `export { serve } from './server/index.ts'`],
  [NO_IMPORT, 'src/monitor/core-imports-cli.ts', `export { main } from '../cli/index.ts'`],
  [NO_IMPORT, 'src/core-imports-config.ts', `export { locksFromConfig } from './config/index.ts'`],
  [NO_IMPORT, 'src/core-imports-zod.ts', `export { z } from 'zod'`],
  [NO_IMPORT, 'src/config/imports-package.ts', `export { Pool } from 'pg'`],
  [NO_IMPORT, 'src/config/imports-nestjs.ts', `export { LocksModule } from '../nestjs/index.ts'`],
  [NO_IMPORT, 'src/cli/imports-nestjs.ts', `export { LocksModule } from '../nestjs/index.ts'`],
  [NO_IMPORT, 'src/cli/imports-package.ts', `export { z } from 'zod'`],
  [NO_IMPORT, 'src/core-imports-otel.ts', `export { instrument } from './otel/index.ts'`],
  [NO_IMPORT, 'src/server/imports-cli.ts', `export { main } from '../cli/index.ts'`],
  [NO_IMPORT, 'src/server/imports-dashboard.ts', `export { App } from '../dashboard/app.tsx'`],
  [NO_IMPORT, 'src/server/imports-package.ts', `export { default } from 'express'`],
  [NO_IMPORT, 'src/otel/imports-server.ts', `export { lockServer } from '../server/index.ts'`],
  [NO_IMPORT, 'src/otel/imports-sdk.ts', `export { MeterProvider } from '@opentelemetry/sdk-metrics'`],
  [NO_IMPORT, 'src/dashboard/imports-node.ts', `export { readFile } from 'node:fs/promises'`],
  [NO_IMPORT, 'src/dashboard/imports-store.ts', `export { memoryStore } from '../stores/memory.ts'`],
  [NO_IMPORT, 'src/nestjs/imports-package.ts', `export { Subject } from 'rxjs'`],
  [NO_IMPORT, 'src/nestjs/imports-core-of-nest.ts', `export { NestFactory } from '@nestjs/core'`],
  [NO_IMPORT, 'src/nestjs/imports-store.ts', `export { memoryStore } from '../stores/memory.ts'`],
  [NO_IMPORT, 'src/core-imports-test.ts', `export { world } from '../test/simulation/world.ts'`],
  [NO_IMPORT, 'src/stores/imports-core.ts', `export { systemEnvironment } from '../environment.ts'`],
  [NO_IMPORT, 'src/stores/one/imports-core.ts', `export { createLocks } from '../../locks.ts'`],
  [NO_IMPORT, 'src/stores/one/imports-store.ts', `export { memoryStore } from '../memory.ts'`],
  [NO_IMPORT, 'src/stores/one/imports-package.ts', `export { it } from 'vitest'`],
  [NO_IMPORT, 'src/fence/imports-core.ts', `export { createLocks } from '../locks.ts'`],
  [NO_IMPORT, 'src/fence/imports-store.ts', `export { memoryStore } from '../stores/memory.ts'`],
  [NO_IMPORT, 'src/fence/imports-package.ts', `export { Pool } from 'pg'`],
  [NO_IMPORT, 'src/testing/imports-runner.ts', `export { it } from 'vitest'`],
  [NO_IMPORT, 'src/testing/imports-store.ts', `export { memoryStore } from '../stores/memory.ts'`],
  ['import(no-cycle)', 'src/cycle-a.ts', `import { b } from './cycle-b.ts'\nexport const a: unknown = b`],
  ['import(no-cycle)', 'src/cycle-b.ts', `import { a } from './cycle-a.ts'\nexport const b: unknown = a`],
  [
    'typescript(no-floating-promises)',
    'src/floats.ts',
    `export function f(g: () => Promise<void>): void { g() }`,
  ],
  [
    'typescript(no-misused-promises)',
    'src/misuses.ts',
    `setInterval(async () => { await Promise.resolve() }, 5)`,
  ],
]

const allowed = [
  ['src/core.ts', `export { readFile } from 'node:fs/promises'\nexport { a } from './monitor/core.ts'`],
  ['src/index.ts', `export { memoryStore } from './stores/memory.ts'`],
  ['src/store-url.ts', `export const store = (): Promise<unknown> => import('./stores/memory.ts')`],
  ['src/monitor/core.ts', `export const a = 1`],
  ['src/config/fine.ts', `export { z } from 'zod'\nexport { memoryStore } from '../stores/memory.ts'`],
  ['src/cli/fine.ts', `export { a } from '../monitor/core.ts'\nexport { d } from '../config/d.ts'`],
  ['src/config/d.ts', `export const d = 1`],
  [
    'src/nestjs/fine.ts',
    `export { Module } from '@nestjs/common'\nexport { createLocks } from '../locks.ts'`,
  ],
  ['src/server/fine.ts', `export { Hono } from 'hono'\nexport { a } from '../monitor/core.ts'`],
  ['src/otel/fine.ts', `export { trace } from '@opentelemetry/api'\nexport { a } from '../monitor/core.ts'`],
  ['src/dashboard/fine.tsx', `export { render } from 'preact'\nexport { a } from '../monitor/core.ts'`],
  [
    'src/stores/fine.ts',
    `export type { Store } from '../store.ts'\nexport { LockError } from '../errors.ts'`,
  ],
  ['src/stores/one/fine.ts', `export { b } from './part.ts'\nexport type { Store } from '../../store.ts'`],
  ['src/stores/one/part.ts', `export { createHash } from 'node:crypto'\nexport const b = 1`],
  ['src/fence/fine.ts', `export { LockError } from '../errors.ts'\nexport { c } from '../databases/c.ts'`],
  ['src/databases/c.ts', `export const c = 1`],
  ['src/testing/fine.ts', `export { createLocks } from '../locks.ts'`],
] as const

let folder: string
let found: readonly { code: string; filename: string }[]

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-lint-'))
  for (const file of ['.oxlintrc.json', 'tsconfig.json']) copyFileSync(join(root, file), join(folder, file))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const [file, source] of [...breaches.map(([, ...planted]) => planted), ...allowed]) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), `${source}\n`)
  }
  found = lint()
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

it.each(breaches)('%s refuses %s', (rule, file) => {
  expect(found).toContainEqual(expect.objectContaining({ code: rule, filename: file }))
})

it.each(allowed)('%s passes', (file) => {
  expect(found.filter(({ code, filename }) => code === NO_IMPORT && filename === file)).toEqual([])
})

function lint(): typeof found {
  const bin = join(root, 'node_modules', '.bin', 'oxlint')
  try {
    execFileSync(bin, ['--format', 'json', 'src'], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  } catch (error) {
    return JSON.parse((error as { stdout: string }).stdout).diagnostics
  }
  throw new Error('the linter found nothing at all')
}
