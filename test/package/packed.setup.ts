import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { TestProject } from 'vitest/node'
import { install, run } from './command.ts'
import { NODE_VERSIONS, nodeBinary, type NodeVersion } from './node-versions.ts'

/** The package as a user gets it: packed, and installed in two empty projects. */
export interface Packed {
  /** Paths inside the tarball. */
  readonly files: readonly string[]
  /** A project with holdfast and nothing else. */
  readonly bare: string
  /** A project with every driver that holdfast can use, their types, and the oldest TypeScript. */
  readonly full: string
  /** A project with the oldest NestJS that it may be used with. */
  readonly nest: string
  readonly nodes: Readonly<Record<NodeVersion, string>>
}

declare module 'vitest' {
  interface ProvidedContext {
    packed: Packed
  }
}

const root = resolve(import.meta.dirname, '..', '..')

export default async function setup(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-packed-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  try {
    const { tarball, files } = await pack(folder)
    const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const bare = consumer(join(folder, 'bare'), { holdfast: `file:${tarball}` })
    const full = consumer(join(folder, 'full'), {
      holdfast: `file:${tarball}`,
      libsql: devDependencies.libsql,
      'better-sqlite3': '13.0.3',
      '@types/better-sqlite3': '9.6.0',
      '@types/node': '24.19.2',
      'typescript-oldest': 'npm:typescript@5.2.2',
    })
    const nest = consumer(join(folder, 'nest'), {
      holdfast: `file:${tarball}`,
      '@nestjs/common': '11.0.0',
      '@nestjs/core': '11.0.0',
      'reflect-metadata': devDependencies['reflect-metadata'],
      rxjs: devDependencies.rxjs,
    })
    const [, , , ...binaries] = await Promise.all([
      install(bare),
      install(full),
      install(nest),
      ...NODE_VERSIONS.map((version) => nodeBinary(version, root)),
    ])
    const nodes = Object.fromEntries(NODE_VERSIONS.map((version, i) => [version, binaries[i]]))
    project.provide('packed', { files, bare, full, nest, nodes: nodes as Packed['nodes'] })
    return remove
  } catch (error) {
    remove()
    throw error
  }
}

async function pack(destination: string): Promise<{ tarball: string; files: string[] }> {
  // `prepack` builds, so the tarball is never older than the source.
  const printed = await run('npm', ['pack', '--json', '--pack-destination', destination], root)
  const [packed] = JSON.parse(printed.slice(printed.indexOf('[')))
  const files = (packed.files as { path: string }[]).map((file) => file.path)
  return { tarball: join(destination, packed.filename), files }
}

function consumer(folder: string, dependencies: Readonly<Record<string, string>>): string {
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }))
  const programs = join(import.meta.dirname, 'consumer')
  for (const file of readdirSync(programs)) copyFileSync(join(programs, file), join(folder, file))
  return folder
}
