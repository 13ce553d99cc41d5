import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, it } from 'vitest'
import type { Store } from '../../src/store.ts'
import { storeConformance } from '../../src/testing/index.ts'

/** What docs/writing-a-store.md calls a store that passes the suite has to pass it. */

interface Example {
  readonly Server: new () => object
  readonly exampleStore: (server: object) => Store
}

const page = readFileSync(new URL('../../docs/writing-a-store.md', import.meta.url), 'utf8')
const code = /```ts\n([\s\S]*?)```/u.exec(page)?.[1] ?? ''

// It imports types only, which are gone once it runs, so it may be anywhere.
const folder = mkdtempSync(join(tmpdir(), 'holdfast-documented-'))
afterAll(() => rmSync(folder, { recursive: true }))
const file = join(folder, 'example-store.ts')
writeFileSync(file, code)

const { Server, exampleStore } = (await import(pathToFileURL(file).href)) as Example
const server = new Server()

storeConformance({ describe, it }, { name: 'example', createStore: () => exampleStore(server), push: false })
