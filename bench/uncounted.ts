import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type * as Holdfast from '../src/index.ts'

/** All that counts, besides a few `+= 1`: the methods, by file. */
const COUNTING: Readonly<Record<string, readonly string[]>> = {
  'histogram.js': ['record(ms) {'],
  'sizes.js': ['record(size) {'],
  'conflicts.js': ['add(holder, count) {'],
  'busy-keys.js': ['requested(key) {', 'conflicted(key, count) {', 'waited(key, ms) {'],
}

const core: string = 'holdfast'
const DIST = fileURLToPath(new URL('.', import.meta.resolve(core)))

/**
 * The built package twice: as it is, and with counting taken out of its files. Two copies, so that the compiler learns
 * from each what it does alone. What is in them needs nothing but node. The folder is for the caller to remove.
 */
export async function countedAndNot(): Promise<{
  folder: string
  counted: typeof Holdfast
  uncounted: typeof Holdfast
}> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const copy of ['counted', 'uncounted']) cpSync(DIST, join(folder, copy), { recursive: true })
  for (const [file, methods] of Object.entries(COUNTING)) {
    const path = join(folder, 'uncounted/monitor', file)
    let text = readFileSync(path, 'utf8')
    for (const method of methods) {
      if (!text.includes(method)) throw new Error(`${file} has no ${method}: this list is out of date`)
      text = text.replace(method, `${method} return;`)
    }
    writeFileSync(path, text)
  }
  const load = (copy: string): Promise<typeof Holdfast> => import(join(folder, copy, 'index.js'))
  return { folder, counted: await load('counted'), uncounted: await load('uncounted') }
}
