import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, it } from 'vitest'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { storeConformance } from '../../src/testing/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-sqlite-'))
const path = join(folder, 'locks.db')
afterAll(() => rmSync(folder, { recursive: true }))

storeConformance(
  { describe, it },
  {
    name: 'sqlite',
    createStore: () => sqliteStore(path),
    processes: { module: new URL('../support/sqlite-client.ts', import.meta.url), argument: path },
  },
)
