import { cpSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { install, run } from '../package/command.ts'

const VERSIONS = { prisma: '7.10.1', '@prisma/client': '7.10.0', '@prisma/adapter-pg': '7.10.1' }

const SCHEMA = `generator client {
  provider = "prisma-client"
  output   = "../generated"
}
datasource db {
  provider = "postgresql"
}
model stock {
  sku    String @id
  amount Int
}
`

/**
 * A folder with Prisma installed and a client generated, in `generated`. At 300 MB it is too much for a
 * dependency, so it is kept under node_modules/.cache. Throws if it can't be had: an example that was not run
 * must not look like one that passed.
 */
export async function prismaFolder(): Promise<string> {
  const root = resolve(import.meta.dirname, '..', '..')
  const cached = join(root, 'node_modules', '.cache', 'holdfast', `prisma-${VERSIONS.prisma}`)
  if (existsSync(cached)) return cached
  // Made beside its place and then renamed, so that an interrupted download is never taken for one.
  const partial = `${cached}.${process.pid}`
  mkdirSync(join(partial, 'prisma'), { recursive: true })
  writeFileSync(join(partial, 'package.json'), JSON.stringify({ private: true, dependencies: VERSIONS }))
  writeFileSync(join(partial, 'prisma', 'schema.prisma'), SCHEMA)
  try {
    await install(partial)
    // Only migrations need the engine, which would be downloaded from elsewhere.
    const env = { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' }
    await run('npx', ['prisma', 'generate'], partial, { env })
    renameSync(partial, cached)
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
  return cached
}

/** Copies the generated client to where its TypeScript can be imported. */
export function copyPrismaClient(from: string, to: string): void {
  cpSync(join(from, 'generated'), to, { recursive: true })
}
