import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { install, run } from './command.ts'

/** The releases that the package is tried on, besides the one that runs the tests. */
export const NODE_VERSIONS = ['22.23.3', '24.21.0'] as const

export type NodeVersion = (typeof NODE_VERSIONS)[number]

/**
 * The path of a real Node binary of that version, from the npm package that carries it. About 60 MB to
 * download each, so they are kept under node_modules/.cache. Throws if a binary can't be had: a version
 * that was not tried must not look like one that passed.
 */
export async function nodeBinary(version: NodeVersion, root: string): Promise<string> {
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const name = `node-${platform}-${process.arch}`
  const cached = join(root, 'node_modules', '.cache', 'holdfast', `${name}-${version}`)
  const binary = join('node_modules', name, 'bin', platform === 'win' ? 'node.exe' : 'node')
  if (!existsSync(cached)) {
    // Installed beside its place and then renamed, so that an interrupted download is never taken for one.
    const partial = `${cached}.${process.pid}`
    mkdirSync(partial, { recursive: true })
    writeFileSync(
      join(partial, 'package.json'),
      JSON.stringify({ private: true, dependencies: { [name]: version } }),
    )
    try {
      await install(partial)
      renameSync(partial, cached)
    } finally {
      rmSync(partial, { recursive: true, force: true })
    }
  }
  const path = join(cached, binary)
  const actual = (await run(path, ['--version'], cached)).trim()
  if (actual !== `v${version}`) throw new Error(`${path} is Node ${actual}, not v${version}`)
  return path
}
