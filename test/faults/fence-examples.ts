import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll } from 'vitest'
import { examplesOf } from '../package/examples.ts'

const root = resolve(import.meta.dirname, '..', '..')

const folders: string[] = []
afterAll(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true, force: true })))

/** What the examples with ORMs make: it writes under the guard. */
export type Write = (sku: string, amount: number, token: bigint) => Promise<void>

/** A folder where files of TypeScript can be imported from, with packages to import; gone after the tests. */
export function exampleFolder(packages: string = join(root, 'node_modules')): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-fencing-'))
  symlinkSync(packages, join(folder, 'node_modules'))
  folders.push(folder)
  return folder
}

/** The example under that heading of docs/fencing.md, as it stands there, on the sources. */
export async function stockIn(folder: string, heading: string): Promise<(db: unknown) => Write> {
  const page = readFileSync(join(root, 'docs', 'fencing.md'), 'utf8')
  const section = page.split(/^(?=#+ )/m).find((part) => part.startsWith(`### ${heading}\n`))
  const example = examplesOf('fencing.md', section ?? '').at(-1)
  if (!example) throw new Error(`docs/fencing.md has no example under ${heading}`)
  const file = join(folder, `${heading}.ts`)
  const index = JSON.stringify(join(root, 'src', 'fence', 'index.ts'))
  writeFileSync(file, example.source.replaceAll("'holdfast/fence'", index))
  return (await import(pathToFileURL(file).href)).stockIn
}
