import { createHash } from 'node:crypto'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

/** Where packages are found from. */
const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/holdfast/bundled/', import.meta.url))
const bundles = new Map<string, Promise<string>>()

/**
 * A TypeScript program as one file that Node can run by itself: to compile it anew in each of twenty processes takes
 * longer than what they are started for. Packages stay what they are.
 */
export function bundled(file: string): Promise<string> {
  const known = bundles.get(file) ?? bundle(file)
  bundles.set(file, known)
  return known
}

async function bundle(file: string): Promise<string> {
  const build = await rolldown({ input: file, platform: 'node', external: /^[^./]/, logLevel: 'silent' })
  const { output } = await build.generate({ format: 'esm', codeSplitting: false })
  await build.close()
  const { code } = output[0]
  const name = `${FOLDER}${createHash('sha256').update(code).digest('hex')}.mjs`
  mkdirSync(FOLDER, { recursive: true })
  // Others may be about to run it.
  writeFileSync(`${name}.${process.pid}`, code)
  renameSync(`${name}.${process.pid}`, name)
  return name
}
