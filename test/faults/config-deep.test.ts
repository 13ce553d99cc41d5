import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { bundled } from '../support/bundled.ts'
import { atLast } from '../support/stage.ts'

const READER = fileURLToPath(new URL('fixtures/config-reader.ts', import.meta.url))

const folder = mkdtempSync(join(tmpdir(), 'holdfast-config-'))
atLast(() => rmSync(folder, { recursive: true, force: true }))

// In a process of its own, as regular expressions are compiled there anew; and twice, as some only are the second time.
it.each([
  ['yaml', '['],
  ['yaml', '{a: '],
  ['yaml', '- '],
  ['yaml', '? '],
  ['yaml', ': '],
  ['json', '['],
  ['json', '{"a":'],
])('a process outlives a %s file of nothing but %j', async (kind, level) => {
  const files = [1000, 3000, 100_000].flatMap((count) => {
    const path = join(folder, `${count}.${kind}`)
    writeFileSync(path, level.repeat(count))
    return [path, path]
  })
  const { stdout } = await promisify(execFile)(process.execPath, [await bundled(READER), ...files])
  const refusals = stdout.trimEnd().split('\n')
  expect(refusals).toHaveLength(files.length)
  for (const refusal of refusals) expect(refusal).toMatch(kind === 'yaml' ? 'nested too deeply' : 'not JSON')
})
