import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { inject, it } from 'vitest'
import { run } from './command.ts'

const { bare, full } = inject('packed')
const root = resolve(import.meta.dirname, '..', '..')

const current = join(root, 'node_modules/typescript/bin/tsc')
const oldest = join(full, 'node_modules/typescript-oldest/bin/tsc')
const node16 = { module: 'node16', moduleResolution: 'node16' }
const bundler = { module: 'esnext', moduleResolution: 'bundler' }

/** Compiles with the declarations of holdfast checked too, which `skipLibCheck` would not do. */
async function compile(compiler: string, project: string, files: string[], options: object): Promise<void> {
  const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true }
  const config = join(project, `tsconfig.${process.hrtime.bigint()}.json`)
  writeFileSync(
    config,
    JSON.stringify({ compilerOptions: { ...strict, target: 'es2022', ...options }, files }),
  )
  await run(process.execPath, [compiler, '-p', config], project)
}

const withTypesOfNode = [
  { name: 'node16 resolution', compiler: current, resolution: node16 },
  { name: 'bundler resolution', compiler: current, resolution: bundler },
  { name: 'node16 resolution and TypeScript 5.2', compiler: oldest, resolution: node16 },
]

it.each(withTypesOfNode)('compiles with $name, and takes every driver', async ({ compiler, resolution }) => {
  await compile(compiler, full, ['types.ts', 'drivers.ts'], {
    ...resolution,
    lib: ['es2022'],
    types: ['node'],
  })
})

const withoutTypesOfNode = [
  { name: 'node16 resolution', compiler: current, resolution: node16 },
  { name: 'bundler resolution', compiler: current, resolution: bundler },
  { name: 'bundler resolution and TypeScript 5.2', compiler: oldest, resolution: bundler },
]

it.each(withoutTypesOfNode)('compiles with $name, without @types/node', async ({ compiler, resolution }) => {
  await compile(compiler, bare, ['types.ts'], { ...resolution, types: [] })
})
